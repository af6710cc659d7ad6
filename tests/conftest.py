"""What tests share: nothing here reaches outside the machine, and no test ever sees real credentials."""

import gc
import os
from collections.abc import Iterator

import pytest

gc.set_threshold(100_000, 50, 50)  # emulated accounts are large living graphs: looking through them often finds nothing
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # read once by moto; loading them costs 0.2 s a mock


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that fail everywhere but in moto."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_SESSION_TOKEN": "testing",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Every test is a cold start: no environment and no answer of the test before."""
    from spillway.aws import memo
    from spillway.env import env

    env.cache_clear()
    memo.clear()
    yield
    env.cache_clear()
