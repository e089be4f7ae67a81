"""THE GRAPH of one served model: the container class is the diagram."""

from __future__ import annotations

from dependency_injector import containers, providers

from containers import resources
from containers.lifecycle import LoadedContainer, Resource
from containers.settings import ModelSettings


class ModelContainer(containers.DeclarativeContainer):
    """One model's vLLM objects, from its settings to its serving objects.

    Every edge is an argument. Nothing starts before :func:`containers.running` or the
    app's lifespan starts it; from then on every provider's value is a plain object.
    """

    instance_type = LoadedContainer

    settings = providers.Dependency(instance_of=ModelSettings)

    model = Resource(
        resources.model,
        source=settings.provided.source,
    )
    vllm_config = Resource(
        resources.vllm_config,
        settings=settings,
        model=model,
    )
    tokenizer = Resource(
        resources.tokenizer,
        vllm_config=vllm_config,
    )
    chat_template = Resource(
        resources.chat_template,
        settings=settings.provided.chat,
        vllm_config=vllm_config,
        tokenizer=tokenizer,
    )
    renderer = Resource(
        resources.renderer,
        vllm_config=vllm_config,
        tokenizer=tokenizer,
    )
    engine = Resource(
        resources.engine,
        settings=settings,
        vllm_config=vllm_config,
        renderer=renderer,
    )
    supported_tasks = Resource(
        resources.supported_tasks,
        engine=engine,
        vllm_config=vllm_config,
    )
    models = Resource(
        resources.models,
        names=settings.provided.names,
        engine=engine,
        renderer=renderer,
        vllm_config=vllm_config,
        lora=settings.provided.lora,
    )
    online_renderer = Resource(
        resources.online_renderer,
        settings=settings.provided.chat,
        vllm_config=vllm_config,
        renderer=renderer,
        chat_template=chat_template,
    )
    serving_chat = Resource(
        resources.serving_chat,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_chat_batch = Resource(
        resources.serving_chat_batch,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_completion = Resource(
        resources.serving_completion,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    tool_server = Resource(
        resources.tool_server,
        settings=settings.provided.chat,
        supported_tasks=supported_tasks,
    )
    serving_responses = Resource(
        resources.serving_responses,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
        tool_server=tool_server,
    )
    serving_messages = Resource(
        resources.serving_messages,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_tokenization = Resource(
        resources.serving_tokenization,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        settings=settings.provided.chat,
    )
