"""The figure that holds what we compute beside what is published."""

from pathlib import Path

import pytest

from bench import allocatable, data

HEAD = (
    "instance_type,vcpu,memory_mib,arch,enis_first_card,ipv4_per_eni,"
    "est_allocatable_cpu_m,est_allocatable_memory_mib,est_allocatable_pods"
)


def test_each_type_is_compared_in_cpu_memory_and_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["m5.xlarge,4,16384,x86_64,4,15,3920,14162,58", "m5.large,2,8192,x86_64,3,10,1930,5000,29"]
    (tmp_path / "ec2_types.csv").write_text("\n".join([HEAD, *rows]))
    monkeypatch.setattr(data, "OPTIONAL", tmp_path)

    (figure,) = allocatable.compared()

    assert (figure["value"], figure["never_above"], figure["types"]) == (0.5, 0.5, 2)
    assert str(figure["most"]).startswith("memory of m5.large: 1.3")


def test_without_the_file_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "OPTIONAL", tmp_path)

    with pytest.raises(data.Missing, match=r"ec2_types\.csv"):
        next(allocatable.compared())
