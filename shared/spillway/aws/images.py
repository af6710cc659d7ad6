"""What an image is: whose kubelet it runs and where its disk is. Told by EKS or by the image's names."""

from collections.abc import Iterable

from spillway.aws.shapes import Image
from spillway.model.group_state import ManagedNodeGroup
from spillway.model.policy import ImageFamily

# In names of images and of SSM parameters, the more special first. awslabs/amazon-eks-ami (README), bottlerocket.dev
# (install/node-ids), docs.aws.amazon.com/eks (retrieve-ami-id), cloud-images.ubuntu.com/aws-eks.
_IN_NAMES = (
    ("bottlerocket", ImageFamily.BOTTLEROCKET),
    ("ubuntu", ImageFamily.UBUNTU),
    ("canonical", ImageFamily.UBUNTU),
    ("al2023", ImageFamily.AL2023),
    ("amazon-linux-2023", ImageFamily.AL2023),
    ("amazon-eks-", ImageFamily.AL2),
    ("amazon-linux-2", ImageFamily.AL2),
    ("amzn2-", ImageFamily.AL2),
)
_OF_EKS = {"AL2023": ImageFamily.AL2023, "AL2": ImageFamily.AL2, "BOTTLEROCKET": ImageFamily.BOTTLEROCKET}

# Where images mount what nodefs is; Bottlerocket's system is apart (bottlerocket.dev, concepts/partitions).
_DATA_DEVICE = "/dev/xvdb"
_ROOT_DEVICES = ("/dev/xvda", "/dev/sda1")


def family_of_names(names: Iterable[str]) -> ImageFamily | None:
    """Of an image's name, SSM parameter or alias (`resolve:ssm:/aws/service/…`); None where they tell nothing."""
    for name in names:
        for part, family in _IN_NAMES:
            if part in name.lower():
                return family
    return None


def family_of_nodegroup(nodegroup: ManagedNodeGroup | None) -> ImageFamily | None:
    """Of EKS's `amiType`; None for CUSTOM, Windows and what comes later."""
    return _OF_EKS.get(nodegroup.ami_type.partition("_")[0]) if nodegroup else None


def is_windows(image: Image | None, nodegroup: ManagedNodeGroup | None) -> bool:
    named = nodegroup is not None and nodegroup.ami_type.startswith("WINDOWS_")
    return named or (image is not None and image.platform.lower() == "windows")


def node_devices(image: Image | None, family: ImageFamily | None) -> tuple[str, ...]:
    """Names under which the disk of pods' ephemeral storage may stand in block device mappings."""
    if family is ImageFamily.BOTTLEROCKET:
        return (_DATA_DEVICE,)
    return (image.root_device_name,) if image and image.root_device_name else _ROOT_DEVICES
