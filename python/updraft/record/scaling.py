"""Loss scales: GradScaler of PyTorch and torch_npu, and apex's."""

import sys

from updraft.record.inside import guarded, record
from updraft.record.tensors import readable

MOST_EVENTS = 5000
_rows = {}  # by the scaler's id; the scaler itself is kept so that its id is not used again


def _row(scaler, **settings):
    made = _rows.get(id(scaler))
    if made is None:
        row = dict(settings, name=type(scaler).__name__, checks=0, overflows=0, until_first_step=0, changes=[])
        record.setdefault("scalers", []).append(row)
        made = _rows[id(scaler)] = (row, scaler)
    return made[0]


def _checked(row, overflow, scale):
    row["checks"] += 1
    if overflow:
        row["overflows"] += 1
        if row["overflows"] == row["checks"]:
            row["until_first_step"] += 1  # the first scale that fits is being looked for
    if (overflow or not row["changes"] or row["changes"][-1]["scale"] != scale) and len(row["changes"]) < MOST_EVENTS:
        row["changes"].append({"check": row["checks"], "overflow": overflow, "scale": scale})
    row["last"] = scale


@guarded
def _found(scaler):
    """Whether a gradient of this step was not finite; None where nothing was asked."""
    found = [f for state in scaler._per_optimizer_states.values() for f in state["found_inf_per_device"].values()]
    if not found or not all(map(readable, found)):
        return None
    return any(f.item() for f in found)


@guarded
def _updated(scaler, overflow):
    if overflow is None:
        return
    row = _row(scaler, dynamic=getattr(scaler, "_dynamic", True), initial=getattr(scaler, "_init_scale", None),
               growth=scaler.get_growth_factor(), backoff=scaler.get_backoff_factor(), interval=scaler.get_growth_interval())
    _checked(row, bool(overflow), float(scaler.get_scale()))


def watch(scaler_class):
    """GradScaler's update(), once for a class that has its own."""
    if "update" not in vars(scaler_class) or hasattr(scaler_class.update, "updraft_recorded"):
        return
    update = scaler_class.update

    def recorded(self, *arguments, **words):
        overflow = _found(self) if self.is_enabled() else None
        result = update(self, *arguments, **words)
        _updated(self, overflow)
        return result

    recorded.updraft_recorded = True
    scaler_class.update = recorded


@guarded
def watch_apex():
    """apex, once it has been imported: ours or NVIDIA's."""
    module = sys.modules.get("apex.amp.scaler")
    scaler_class = getattr(module, "LossScaler", None)
    if scaler_class is None or hasattr(scaler_class.update_scale, "updraft_recorded"):
        return
    update = scaler_class.update_scale

    def recorded(self, *arguments, **words):
        before = float(self.loss_scale())
        skip = update(self, *arguments, **words)
        _apex_updated(self, before, skip)
        return skip

    recorded.updraft_recorded = True
    scaler_class.update_scale = recorded


@guarded
def _apex_updated(scaler, before, skip):
    row = _row(scaler, dynamic=bool(scaler.dynamic), initial=before, growth=getattr(scaler, "_growth", getattr(scaler, "_scale_factor", None)),
               backoff=getattr(scaler, "_backoff", None), interval=getattr(scaler, "_window", getattr(scaler, "_scale_seq_len", None)))
    _checked(row, bool(skip), float(scaler.loss_scale()))
