"""Each defect of a device fails exactly its point of the conformance test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulators.devices.device import SimulatedDevice
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware import DEFECTS
from tests.bridge.test_conform import a_shoe, a_shuffler, cannot, not_passed, points_with_one_defect, run_on


@pytest.mark.parametrize("device", [a_shoe, a_shuffler])
@pytest.mark.parametrize("point", DEFECTS)
def test_defect_fails_exactly_its_point(
    point: str, device: Callable[..., SimulatedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    if point in cannot(device):
        return
    monkeypatch.setattr(Firmware, "events_kept", 40)  # filled sooner
    results = run_on(device(DEFECTS[point]), with_cards=True, only=points_with_one_defect())
    found = not_passed(results, without=[name for name in cannot(device) if name in DEFECTS])
    assert list(found) == [point]
    assert found[point]
    assert results[point].verdict == "failed"
