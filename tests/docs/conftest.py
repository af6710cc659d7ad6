from pathlib import Path

import pytest

from tests.cli.dumps import Dumps


@pytest.fixture
def dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Dumps:
    return Dumps(tmp_path, capsys)
