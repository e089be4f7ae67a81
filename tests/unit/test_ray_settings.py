"""What Ray Serve is told, what is refused, and what takes new replicas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.ray import options
from app.ray.application import build
from app.ray.checks import (
    STORE,
    deployment_name,
    refuse_what_cannot_work,
    refuse_what_stays,
)
from app.ray.narrowing import settings_of_replica
from app.ray.options import ingress_options, model_options
from app.ray.versions import ingress_version, model_version
from containers.errors import SettingsError
from containers.settings import Settings
from containers.settings.parallelism import parallelism_of
from containers.settings.travel import packed, unpacked

ROOT = Path(__file__).parents[2]
MODEL: dict[str, Any] = {"name": "tiny", "source": "some/folder"}
Patch = pytest.MonkeyPatch


def settings(model: dict[str, Any] | None = None, **sections: Any) -> Settings:
    return Settings.model_validate({"models": [MODEL | (model or {})]} | sections)


class TestWhatTravels:
    def test_settings_arrive_as_they_left(self) -> None:
        left = settings(
            {"names": ["tiny", "other"], "engine": {"hf_token": "secret"}},
            server={"api_keys": ["a", {"name": "b", "key": "c"}]},
        )
        arrived = unpacked(packed(left))
        assert arrived == left
        assert [key.get_secret_value() for key in arrived.server.api_keys[:1]] == ["a"]

    def test_no_secret_can_be_read_in_passing(self) -> None:
        text = packed(settings({"engine": {"hf_token": "very-secret"}}))
        assert "very-secret" not in text

    def test_overrides_go_on_top(self) -> None:
        text = packed(settings())
        arrived = unpacked(text, ["models.0.engine.seed=1"])
        assert arrived.models[0].engine["seed"] == 1

    @pytest.mark.parametrize(
        "override", ["models.0.engine.max_modell_len=1", "nothing", 3]
    )
    def test_a_wrong_override_is_told(self, override: Any) -> None:
        with pytest.raises(SettingsError):
            unpacked(packed(settings()), [override])


class TestOptions:
    def test_a_fixed_number_of_replicas(self) -> None:
        made = settings({"ray": {"replicas": 3, "max_queued_requests": 7}})
        told = model_options(made, made.models[0])
        assert told["num_replicas"] == 3
        assert told["max_queued_requests"] == 7
        assert "autoscaling_config" not in told

    def test_a_number_that_varies(self) -> None:
        made = settings({"ray": {"autoscaling": {"max_replicas": 4}}})
        told = model_options(made, made.models[0])
        assert "num_replicas" not in told
        assert told["autoscaling_config"]["max_replicas"] == 4

    def test_ray_waits_for_the_end_longer_than_it_takes(self) -> None:
        made = settings(server={"drain_timeout_s": 100.0, "stop_timeout_s": 50.0})
        told = model_options(made, made.models[0])
        assert told["graceful_shutdown_timeout_s"] > 150
        assert ingress_options(made)["graceful_shutdown_timeout_s"] > 105

    def test_a_gpu_for_each_worker(self, monkeypatch: Patch) -> None:
        monkeypatch.setattr(options, "accelerator", lambda: "CUDA")
        made = settings({"engine": {"tensor_parallel_size": 4}})
        actor = model_options(made, made.models[0])["ray_actor_options"]
        assert actor["num_gpus"] == 4

    def test_no_gpu_on_the_cpu_and_as_many_as_the_settings_say(
        self, monkeypatch: Patch
    ) -> None:
        monkeypatch.setattr(options, "accelerator", lambda: "")
        made = settings()
        actor = model_options(made, made.models[0])["ray_actor_options"]
        assert actor["num_gpus"] == 0
        made = settings({"ray": {"num_gpus": 0.5, "accelerator_type": "H100"}})
        actor = model_options(made, made.models[0])["ray_actor_options"]
        assert (actor["num_gpus"], actor["accelerator_type"]) == (0.5, "H100")

    def test_workers_that_ray_starts_have_bundles(self, monkeypatch: Patch) -> None:
        monkeypatch.setattr(options, "accelerator", lambda: "CUDA")
        engine = {
            "tensor_parallel_size": 2,
            "pipeline_parallel_size": 2,
            "distributed_executor_backend": "ray",
        }
        made = settings({"engine": engine, "ray": {"placement": "SPREAD"}})
        told = model_options(made, made.models[0])
        first, *others = told["placement_group_bundles"]
        assert first == {"CPU": 2.0, "GPU": 1.0}
        assert others == [{"CPU": 1.0, "GPU": 1.0}] * 3
        assert told["placement_group_strategy"] == "SPREAD"
        assert "num_gpus" not in told["ray_actor_options"]

    @pytest.mark.heavy
    def test_ray_takes_every_option(self) -> None:
        serve = pytest.importorskip("ray.serve")
        made = settings({"ray": {"autoscaling": {"max_replicas": 4}}})
        for told in (model_options(made, made.models[0]), ingress_options(made)):
            assert serve.deployment(name="any", **told)(type("Any", (), {}))


@pytest.mark.parametrize(
    ("engine", "n_workers", "by_ray"),
    [
        ({}, 1, False),
        ({"tensor_parallel_size": 2, "data_parallel_size": 3}, 6, False),
        ({"enable_expert_parallel": True, "tensor_parallel_size": 8}, 8, False),
        ({"distributed_executor_backend": "ray"}, 1, True),
    ],
)
def test_workers_are_counted_as_vllm_counts_them(
    engine: dict[str, Any], n_workers: int, *, by_ray: bool
) -> None:
    found = parallelism_of(engine)
    assert (found.n_workers, found.is_placed_by_ray) == (n_workers, by_ray)


class TestRefusals:
    @pytest.mark.parametrize(
        ("model", "server", "key"),
        [
            ({}, {"uds": "/tmp/socket"}, "server.uds"),  # noqa: S108  # not made
            ({}, {"ssl_certfile": "a.pem"}, "server.ssl_certfile"),
            ({}, {"root_path": "/llm"}, "server.root_path"),
            (
                {},
                {"h11_max_incomplete_event_size": 9},
                "server.h11_max_incomplete_event_size",
            ),
            (
                {"memory_gib": 1.0},
                {"memory_budget_gib": 2.0},
                "server.memory_budget_gib",
            ),
            ({}, {"enable_runtime_lora": True}, "server.enable_runtime_lora"),
            ({"load": "lazy"}, {}, "models.0.load"),
            ({"idle_timeout_s": 9.0}, {}, "models.0.idle_timeout_s"),
            ({"name": "ingress"}, {}, "models.0.name"),
            (
                {"engine": {"data_parallel_backend": "ray"}},
                {},
                "models.0.engine.data_parallel_backend",
            ),
            ({"engine": {"nnodes": 2}}, {}, "models.0.engine.nnodes"),
        ],
    )
    def test_what_ray_cannot_do_names_its_key(
        self, model: dict[str, Any], server: dict[str, Any], key: str
    ) -> None:
        with pytest.raises(SettingsError) as refused:
            refuse_what_cannot_work(settings(model, server=server))
        assert refused.value.key == key
        assert refused.value.hint

    def test_every_reason_is_told_at_once(self) -> None:
        with pytest.raises(SettingsError) as refused:
            refuse_what_cannot_work(
                settings({"load": "lazy"}, server={"uds": "/a", "root_path": "/b"})
            )
        assert len(refused.value.others) == 2

    def test_responses_are_not_stored_in_one_of_several(
        self, monkeypatch: Patch
    ) -> None:
        monkeypatch.setenv(STORE, "1")
        refuse_what_cannot_work(settings())
        with pytest.raises(SettingsError, match="stores responses in one"):
            refuse_what_cannot_work(settings({"ray": {"replicas": 2}}))

    @pytest.mark.parametrize(
        ("section", "name", "value"),
        [
            ("server", "port", 1),
            ("server", "host", "0.0.0.0"),  # noqa: S104  # not listened at
            ("ray", "application", "another"),
            ("ray", "address", "auto"),
        ],
    )
    def test_what_stays_while_it_serves_names_its_key(
        self, section: str, name: str, value: Any
    ) -> None:
        before = settings()
        refuse_what_stays(before, settings(ray={"route_prefix": "/llm"}))
        sections: dict[str, Any] = {section: {name: value}}
        with pytest.raises(SettingsError, match="stays as it was") as refused:
            refuse_what_stays(before, settings(**sections))
        assert refused.value.key == f"{section}.{name}"

    def test_a_container_that_cannot_be_imported(self) -> None:
        with pytest.raises(SettingsError, match="cannot be imported"):
            refuse_what_cannot_work(settings(ray={"container": "no.such:thing"}))

    @pytest.mark.parametrize(
        "ray",
        [
            {"replicas": 2, "autoscaling": {"max_replicas": 3}},
            {"autoscaling": {"min_replicas": 3, "max_replicas": 2}},
            {"placement": "ANYWHERE"},
        ],
    )
    def test_what_contradicts_itself(self, ray: dict[str, Any]) -> None:
        with pytest.raises(SettingsError):
            settings({"ray": ray})

    def test_an_unknown_argument_of_the_application(self) -> None:
        with pytest.raises(SettingsError, match="It takes config, set, env_file"):
            build({"confg": "config.yaml"})


def test_what_is_reloaded_takes_no_new_replica() -> None:
    before, after = settings(), settings({"chat": {"template": "{{ 1 }}"}})
    assert model_version(before, before.models[0]) == model_version(
        after, after.models[0]
    )
    before, after = settings(), settings(server={"drain_timeout_s": 1.0})
    assert ingress_version(before) == ingress_version(after)


@pytest.mark.parametrize(
    ("model", "sections"),
    [
        ({"source": "another"}, {}),
        ({"engine": {"seed": 1}}, {}),
        ({"chat": {"enable_log_requests": True}}, {}),
        ({}, {"performance": {"fast_streams": False}}),
        ({}, {"server": {"admin_keys": ["a"]}}),
    ],
)
def test_what_needs_a_restart_takes_new_replicas(
    model: dict[str, Any], sections: dict[str, Any]
) -> None:
    before, after = settings(), settings(model, **sections)
    assert model_version(before, before.models[0]) != model_version(
        after, after.models[0]
    )


def test_keys_where_there_were_none_take_a_new_ingress() -> None:
    before, after = settings(), settings(server={"api_keys": ["a"]})
    assert ingress_version(before) != ingress_version(after)


def test_a_replica_asks_for_no_key_but_its_own() -> None:
    made = settings(
        server={"api_keys": ["a"], "admin_keys": ["b"], "request_timeout_s": 1.0}
    )
    server = settings_of_replica(made, "tiny", admin_key="own").server
    assert not server.wants_key
    assert server.request_timeout_s is None
    (key,) = server.admin_keys or ()
    assert getattr(key, "name", "") == "the ingress"


def test_the_config_file_that_is_shipped_can_be_served_with_ray() -> None:
    shipped = Settings.load(ROOT / "config.yaml", environment={})
    refuse_what_cannot_work(shipped)
    server = settings_of_replica(
        shipped, shipped.models[0].name, admin_key="own"
    ).server
    assert not server.ui


def test_a_model_that_is_gone_is_told() -> None:
    with pytest.raises(SettingsError, match="has none that is named other"):
        settings_of_replica(settings(), "other", admin_key="own")


def test_a_deployments_name_can_be_a_files() -> None:
    (model,) = settings({"name": "meta/Llama 3#1"}).models
    assert deployment_name(model) == "meta_Llama_3_1"
