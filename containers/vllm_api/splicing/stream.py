"""A stream of server-sent events, the plain ones of which are spliced."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from copy import copy
from operator import itemgetter
from typing import Any

from containers.vllm_api.counted import CountedGeneration
from containers.vllm_api.splicing.frame import Frame, escape
from containers.vllm_api.splicing.hand_fed import HandFed

Generate = Callable[..., AsyncGenerator[str, None]]
"""Makes a stream of events of the results it is given."""


def spliced_chat_stream(
    generate: Generate, results: AsyncGenerator[Any, None]
) -> AsyncGenerator[str, None]:
    """Events of a plain conversation, the same as vLLM's.

    Args:
        generate: vLLM's ``chat_completion_stream_generator``, given its results.
        results: What the engine says, as vLLM's ``RequestOutput``; it is closed with
            the events.
    """
    frame = Frame('"delta":{"content":', "}")
    counted = results if isinstance(results, CountedGeneration) else None
    splicer = _Splicer(HandFed(generate), frame, lambda result: result, counted)
    return _spliced(splicer, counted.uncounted if counted else results)


def spliced_completion_stream(
    generate: Generate, results: AsyncGenerator[tuple[int, Any], None]
) -> AsyncGenerator[str, None]:
    """Events of a plain completion, the same as vLLM's.

    Args:
        generate: vLLM's ``completion_stream_generator``, given its results.
        results: What the engine says of the only prompt, and that prompt's number; it
            is closed with the events.
    """
    frame = Frame('"text":', ",")
    splicer = _Splicer(HandFed(generate), frame, lambda result: (0, result))
    return _spliced(splicer, results, itemgetter(1))


async def _spliced(
    splicer: _Splicer,
    results: AsyncGenerator[Any, None],
    result_of: Callable[[Any], Any] | None = None,
) -> AsyncGenerator[str, None]:
    splice = splicer.splice
    async with aclosing(splicer), _closing(results):
        try:
            async for item in results:
                result = result_of(item) if result_of else item
                spliced = splice(result)
                if spliced is not None:
                    yield spliced
                    continue
                for chunk in await splicer.make(result):
                    yield chunk
                if splicer.is_over:
                    return
        except Exception as error:  # noqa: BLE001  # vLLM makes an event of it
            for chunk in await splicer.fail(error):
                yield chunk
            return
        for chunk in await splicer.end():
            yield chunk


def _closing(results: Any) -> AbstractAsyncContextManager[Any]:
    return aclosing(results) if hasattr(results, "aclose") else nullcontext()


class _Splicer:
    """vLLM's generator, and what it has not been told of.

    Args:
        stock: vLLM's generator.
        frame: What surrounds the text in its chunks.
        packed: Makes of a result what the generator iterates over.
        counted: Where the results' tokens are counted, unless they have been.
    """

    def __init__(
        self,
        stock: HandFed[str],
        frame: Frame,
        packed: Callable[[Any], Any],
        counted: CountedGeneration | None = None,
    ) -> None:
        self._stock = stock
        self._frame = frame
        self._packed = packed
        self._counted = counted
        self._untold_ids: list[int] = []
        self._last: Any = None

    @property
    def is_over(self) -> bool:
        """Whether vLLM's generator has ended."""
        return self._stock.is_over

    def splice(self, result: Any) -> str | None:
        """The chunk of a plain result, or ``None`` where vLLM has to make it."""
        if not self._frame.is_known:
            return None
        output = _plain_output(result)
        escaped = None if output is None else escape(output.text)
        if escaped is None:
            return None
        self._last = result
        self._untold_ids += output.token_ids
        return self._frame.around(escaped)

    async def make(self, result: Any) -> list[str]:
        """The chunks that vLLM makes of a result, told of all tokens before it."""
        if self._counted is not None:
            self._counted.note(result)
        chunks = await self._stock.take(self._packed(self._telling(result)))
        if any(output.finish_reason for output in result.outputs):
            self._frame.end()
        self._frame.learn(chunks, _plain_output(result))
        return chunks

    async def fail(self, error: Exception) -> list[str]:
        """The chunks that vLLM makes of an error of the engine's.

        Raises:
            Exception: The error itself, if it is one of vLLM's generator.
        """
        if self.is_over:
            raise error
        return await self._stock.fail(error)

    async def end(self) -> list[str]:
        """The chunks that vLLM makes of the end."""
        if self._untold_ids:
            # An engine that ends without a reason; the text itself has been sent.
            output = copy(self._last.outputs[0])
            output.text, output.token_ids = "", []
            last = copy(self._last)
            last.outputs = [output]
            await self.make(last)
        return await self._stock.end()

    async def aclose(self) -> None:
        """End vLLM's generator wherever it stands."""
        self._count_untold()
        await self._stock.aclose()

    def _count_untold(self) -> None:
        if self._counted is not None:
            self._counted.count(len(self._untold_ids))
        self._untold_ids = []

    def _telling(self, result: Any) -> Any:
        if not self._untold_ids or not result.outputs:
            return result
        first, *others = map(copy, result.outputs)
        first.token_ids = [*self._untold_ids, *first.token_ids]
        self._count_untold()
        telling = copy(result)
        telling.outputs = [first, *others]
        return telling


def _plain_output(result: Any) -> Any:
    """The only output, if it is a piece of text and not the last one."""
    if len(result.outputs) != 1:
        return None
    output = result.outputs[0]
    return output if output.text and output.finish_reason is None else None
