"""What ``deploy/`` ships fits the server it deploys, as far as files can show it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import APIRoute

from app.routes.probes import router
from app.server import CLOSE_TIMEOUT_S, FORCE_AFTER_S
from containers.settings import ServerSettings, Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes"
DEFAULTS = ServerSettings()
BOUND_S = (
    DEFAULTS.drain_timeout_s + CLOSE_TIMEOUT_S + DEFAULTS.stop_timeout_s + FORCE_AFTER_S
)
"""Seconds after which a server that was told to end has ended, at the latest."""

Instruction = tuple[str, str]


def stages(name: str) -> list[list[Instruction]]:
    """The instructions of each stage of a Dockerfile."""
    text = (DEPLOY / name).read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            found.append([])
        found[-1].append((instruction, " ".join(rest.split())))
    return found


@pytest.mark.parametrize("name", ["Dockerfile.cpu", "Dockerfile.cuda"])
class TestDockerfile:
    def test_what_builds_is_left_behind(self, name: str) -> None:
        build, final = map(dict, stages(name))
        assert build["FROM"] == "python:3.12-slim AS build"
        assert final["FROM"] == "python:3.12-slim"
        assert final["COPY"].startswith("--from=build /opt/vllm-di ")

    def test_the_server_is_no_root_and_gets_the_signals(self, name: str) -> None:
        final = dict(stages(name)[-1])
        assert int(final["USER"].partition(":")[0]) > 0
        assert json.loads(final["ENTRYPOINT"]) == ["vllm-di"]
        assert json.loads(final["CMD"])[:2] == ["serve", "--config"]
        assert final["STOPSIGNAL"] == "SIGTERM"

    def test_all_it_copies_is_in_the_build_context(self, name: str) -> None:
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        sent = [line.removeprefix("!") for line in lines if line.startswith("!")]
        assert [each for each in sent if not (ROOT / each).exists()] == []
        runs = " ".join(rest for _, rest in stages(name)[0])
        named = re.findall(r"-r (\w+)/", runs)
        assert {*named, "app", "containers", "pyproject.toml"} <= set(sent)


def test_the_cpu_image_is_built_from_locks_that_are_there() -> None:
    runs = " ".join(rest for _, rest in stages("Dockerfile.cpu")[0])
    locks = re.findall(r"-r (\S+)", runs)
    assert locks == ["requirements/torch.txt", "requirements/cpu.lock"]
    assert all((ROOT / lock).is_file() for lock in locks)
    assert "--require-hashes -r requirements/cpu.lock" in runs


def test_the_cuda_image_is_built_from_a_lock_of_the_extras_release() -> None:
    import tomllib

    runs = " ".join(rest for _, rest in stages("Dockerfile.cuda")[0])
    assert "--require-hashes -r requirements/cuda.lock" in runs
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (vllm,) = project["optional-dependencies"]["cuda"]
    assert re.fullmatch(r"vllm==\d+\.\d+\.\d+", vllm)
    assert f"{vllm} \\\n" in (ROOT / "requirements" / "cuda.lock").read_text()


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    """The Kubernetes objects by kind."""
    found = [yaml.safe_load(path.read_text()) for path in MANIFESTS.glob("*.yaml")]
    return {each["kind"]: each for each in found}


@pytest.fixture(scope="module")
def pod(manifests: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifests["Deployment"]["spec"]["template"]["spec"]
    return spec


@pytest.fixture(scope="module")
def container(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod["containers"]
    return dict(found)


def test_the_objects_find_each_other(
    manifests: dict[str, Any], pod: dict[str, Any]
) -> None:
    deployment = manifests["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    config, claim = manifests["ConfigMap"], manifests["PersistentVolumeClaim"]
    named = volumes["cache"]["persistentVolumeClaim"]["claimName"]
    assert named == claim["metadata"]["name"]
    assert volumes["config"]["configMap"]["name"] == config["metadata"]["name"]


def test_its_config_is_valid_and_reached_by_the_service(
    manifests: dict[str, Any], container: dict[str, Any], tmp_path: Path
) -> None:
    ((name, text),) = manifests["ConfigMap"]["data"].items()
    (tmp_path / name).write_text(text)
    settings = Settings.load(tmp_path / name, environment={"API_KEY": "key"})
    (port,) = container["ports"]
    (exposed,) = manifests["Service"]["spec"]["ports"]
    assert settings.server.port == port["containerPort"]
    assert exposed["targetPort"] == port["name"]
    assert settings.server.host == "0.0.0.0"  # noqa: S104  # compared
    assert container["args"][-1] == f"/config/{name}"


@pytest.mark.parametrize(
    ("probe", "path"),
    [("startup", "/startupz"), ("liveness", "/livez"), ("readiness", "/readyz")],
)
def test_each_probe_asks_a_route_for_it(
    probe: str, path: str, container: dict[str, Any]
) -> None:
    asked = container[f"{probe}Probe"]
    assert asked["httpGet"]["path"] == path
    assert path in {each.path for each in router.routes if isinstance(each, APIRoute)}
    assert asked["timeoutSeconds"] <= asked["periodSeconds"]


def test_a_start_may_take_as_long_as_the_settings_say(
    container: dict[str, Any],
) -> None:
    probe = container["startupProbe"]
    allowed_s = probe["periodSeconds"] * probe["failureThreshold"]
    assert allowed_s > DEFAULTS.start_timeout_s


def test_the_pod_is_given_the_time_to_end(
    pod: dict[str, Any], container: dict[str, Any]
) -> None:
    *_, slept_s = container["lifecycle"]["preStop"]["exec"]["command"]
    assert pod["terminationGracePeriodSeconds"] > int(slept_s) + BOUND_S


def test_the_pod_has_few_rights_and_places_to_write(
    pod: dict[str, Any], container: dict[str, Any]
) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    (user,) = re.findall(r"USER (\d+):", (DEPLOY / "Dockerfile.cuda").read_text())
    assert pod["securityContext"]["runAsUser"] == int(user)
    rights = container["securityContext"]
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    assert {"/cache", "/tmp", "/dev/shm", "/config"} == set(mounts)  # noqa: S108  # of the pod
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes[mounts["/dev/shm"]]["emptyDir"]["medium"] == "Memory"  # noqa: S108  # as above


def test_its_resources_have_a_gpu_and_bounds(container: dict[str, Any]) -> None:
    wanted, most = container["resources"]["requests"], container["resources"]["limits"]
    assert wanted["nvidia.com/gpu"] == most["nvidia.com/gpu"] == 1
    assert {"cpu", "memory"} <= set(wanted)


def test_compose_builds_both_images_and_gives_them_time() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        kind = name.rpartition("-")[2]
        assert service["profiles"] == [kind]
        assert service["build"]["dockerfile"] == f"deploy/Dockerfile.{kind}"
        assert (DEPLOY / service["build"]["context"] / "deploy").is_dir()
        assert int(service["stop_grace_period"].rstrip("s")) > BOUND_S
        assert "/readyz" in service["healthcheck"]["test"][-1]
        assert service["healthcheck"]["start_period"] == "600s"
        assert service["read_only"] is True


def unit() -> dict[str, str]:
    """Keys of the systemd unit; of one given twice, the last."""
    text = (DEPLOY / "vllm-di.service").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def test_the_unit_gives_the_server_time_and_knows_its_exit_status() -> None:
    keys = unit()
    assert int(keys["TimeoutStopSec"].rstrip("s")) > BOUND_S
    assert keys["RestartPreventExitStatus"] == "2"
    assert keys["Type"] == "exec"
    assert keys["DynamicUser"] == "yes"


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    text = (DEPLOY / "vllm-di.service").read_text()
    program = unit()["ExecStart"].split()[0]
    copy = tmp_path / "vllm-di.service"
    copy.write_text(text.replace(program, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "vllm-di" in line]
    assert ours == []
    assert done.returncode == 0, done.stderr
