"""THE GRAPH of one served model: the container class is the diagram."""

from __future__ import annotations

from dependency_injector import containers, providers

from containers import resources
from containers.lifecycle import LoadedContainer, Part, Resource
from containers.settings import ModelSettings, PerformanceSettings
from containers.vllm_api.cpu_share import WHOLE, CpuShare
from containers.vllm_api.sharing import ALONE, EngineSharing


class ModelContainer(containers.DeclarativeContainer):
    """One model's vLLM objects, from its settings to its serving objects.

    Every edge is an argument. Nothing starts before :func:`containers.running` or the
    app's lifespan starts it; from then on every provider's value is a plain object.
    """

    instance_type = LoadedContainer

    settings = providers.Dependency(instance_of=ModelSettings)
    performance = providers.Dependency(
        instance_of=PerformanceSettings, default=PerformanceSettings()
    )
    cpu_share = providers.Dependency(instance_of=CpuShare, default=WHOLE)
    sharing = providers.Dependency(instance_of=EngineSharing, default=ALONE)
    engine_processes = Part(
        resources.engine_processes,
        settings=performance,
    )

    model = Resource(
        resources.model,
        source=settings.provided.source,
    )
    vllm_config = Resource(
        resources.vllm_config,
        settings=settings,
        model=model,
        sharing=sharing,
    )
    engine_core = Part(
        resources.engine_core,
        engine_processes=engine_processes,
        settings=settings,
        vllm_config=vllm_config,
        cpu_share=cpu_share,
        sharing=sharing,
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
        short_prompt_max_chars=performance.provided.short_prompt_max_chars,
    )
    engine = Resource(
        resources.engine,
        engine_core=engine_core,
        settings=settings,
        vllm_config=vllm_config,
        renderer=renderer,
        sharing=sharing,
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
    online_derenderer = Resource(
        resources.online_derenderer,
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
        fast_streams=performance.provided.fast_streams,
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
        fast_streams=performance.provided.fast_streams,
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
    serving_chat_v2 = Resource(
        resources.serving_chat_v2,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_generative_scoring = Resource(
        resources.serving_generative_scoring,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_structured_decisions = Resource(
        resources.serving_structured_decisions,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_render = Resource(
        resources.serving_render,
        supported_tasks=supported_tasks,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        settings=settings.provided.chat,
        tool_server=tool_server,
    )
    serving_derender = Resource(
        resources.serving_derender,
        supported_tasks=supported_tasks,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_derenderer=online_derenderer,
        settings=settings.provided.chat,
    )
    serving_tokens = Resource(
        resources.serving_tokens,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        online_renderer=online_renderer,
        online_derenderer=online_derenderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_transcription = Resource(
        resources.serving_transcription,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_translation = Resource(
        resources.serving_translation,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_realtime = Resource(
        resources.serving_realtime,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_embedding = Resource(
        resources.serving_embedding,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_pooling = Resource(
        resources.serving_pooling,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_classification = Resource(
        resources.serving_classification,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        renderer=renderer,
        vllm_config=vllm_config,
        settings=settings.provided.chat,
    )
    serving_scores = Resource(
        resources.serving_scores,
        supported_tasks=supported_tasks,
        engine=engine,
        models=models,
        tokenizer=tokenizer,
        chat_template=chat_template,
        renderer=renderer,
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
