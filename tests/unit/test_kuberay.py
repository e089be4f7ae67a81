"""KubeRay's manifests fit the application they deploy, as far as files can show it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from app.ray import build
from app.ray.checks import refuse_what_cannot_work
from app.ray.options import ingress_options, model_options
from containers.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FOLDER = DEPLOY / "kubernetes" / "ray"


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "rayservice.yaml").read_text())
    assert loaded["kind"] == "RayService"
    return dict(loaded["spec"])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    ((name, text),) = _config()["data"].items()
    path = tmp_path_factory.mktemp("config") / name
    path.write_text(text)
    return Settings.load(path, environment={"API_KEY": "key"})


def _config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "configmap.yaml").read_text())
    return loaded


def _pods(spec: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = spec["rayClusterConfig"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def _extra() -> Requirement:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (ray,) = project["optional-dependencies"]["ray"]
    return Requirement(ray)


def test_the_application_is_built_by_what_there_is(spec: dict[str, Any]) -> None:
    (application,) = yaml.safe_load(spec["serveConfigV2"])["applications"]
    module, _, function = application["import_path"].partition(":")
    assert (module, function) == ("app.ray", build.__name__)
    folder, _, name = application["args"]["config"].rpartition("/")
    assert name in _config()["data"]
    for pod in _pods(spec):
        (container,) = pod["containers"]
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        volumes = {each["name"]: each for each in pod["volumes"]}
        mounted = volumes[mounts[folder]]["configMap"]["name"]
        assert mounted == _config()["metadata"]["name"]


def test_its_config_can_be_served_with_ray(settings: Settings) -> None:
    refuse_what_cannot_work(settings)


def test_a_worker_has_room_for_a_replica_of_the_model(
    spec: dict[str, Any], settings: Settings
) -> None:
    (model,) = settings.models
    (group,) = spec["rayClusterConfig"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    wanted = model.ray.num_cpus + settings.ray.ingress.num_cpus
    assert int(container["resources"]["requests"]["cpu"]) >= wanted
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert model.ray.autoscaling is not None
    assert group["maxReplicas"] >= model.ray.autoscaling.max_replicas


def test_a_worker_is_given_the_time_its_replicas_take_to_end(
    spec: dict[str, Any], settings: Settings
) -> None:
    (group,) = spec["rayClusterConfig"]["workerGroupSpecs"]
    given_s = group["template"]["spec"]["terminationGracePeriodSeconds"]
    (model,) = settings.models
    for told in (model_options(settings, model), ingress_options(settings)):
        assert given_s > told["graceful_shutdown_timeout_s"]


def test_one_ray_in_manifest_image_and_extra(spec: dict[str, Any]) -> None:
    (pinned,) = re.findall(
        r"'ray\[serve\]==([\d.]+)'", (DEPLOY / "Dockerfile.ray").read_text()
    )
    assert spec["rayClusterConfig"]["rayVersion"] == pinned
    assert Version(pinned) in _extra().specifier
    locked = (ROOT / "requirements" / "dev.lock").read_text()
    assert f"\nray=={pinned} \\\n" in locked


def test_pods_have_few_rights(spec: dict[str, Any]) -> None:
    (user,) = re.findall(r"USER (\d+):", (DEPLOY / "Dockerfile.ray").read_text())
    for pod in _pods(spec):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == int(user)
        (container,) = pod["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["image"] == "vllm-di:ray"
