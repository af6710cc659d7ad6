"""Each instance type counts against the quota of its class, in Service Quotas' own codes."""

import pytest

from spillway.model.quotas import quota_class, quota_code


@pytest.mark.feature("FS-11")
@pytest.mark.parametrize(
    ("instance_type", "name", "on_demand", "spot"),
    [
        ("m5.large", "standard", "L-1216C47A", "L-34B43A08"),
        ("c7gd.metal", "standard", "L-1216C47A", "L-34B43A08"),
        ("im4gn.xlarge", "standard", "L-1216C47A", "L-34B43A08"),
        ("t3.micro", "standard", "L-1216C47A", "L-34B43A08"),
        ("d3en.xlarge", "standard", "L-1216C47A", "L-34B43A08"),
        ("g5.xlarge", "g-and-vt", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "g-and-vt", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "g-and-vt", "L-DB2E81BA", "L-3819A6DF"),
        ("p5.48xlarge", "p", "L-417A185B", "L-7212CCBC"),
        ("dl1.24xlarge", "dl", "L-6E869C2A", "L-85EED4F7"),
        ("f2.6xlarge", "f", "L-74FC7D96", "L-88CF9481"),
        ("inf2.xlarge", "inf", "L-1945791B", "L-B5D1601B"),
        ("trn1.2xlarge", "trn", "L-2C3B7624", "L-6B0D517C"),
        ("x2idn.16xlarge", "x", "L-7295265B", "L-E3A00192"),
        ("hpc7g.4xlarge", "hpc", "L-F7808C92", ""),
        ("u-6tb1.metal", "high-memory", "L-43DA4232", ""),
        ("u7i-12tb.224xlarge", "high-memory", "L-43DA4232", ""),
        ("mac2.metal", "mac", "", ""),
    ],
)
def test_a_type_has_the_quota_of_its_family(instance_type: str, name: str, on_demand: str, spot: str) -> None:
    assert quota_class(instance_type).name == name
    assert (quota_code(instance_type, spot=False), quota_code(instance_type, spot=True)) == (on_demand, spot)
