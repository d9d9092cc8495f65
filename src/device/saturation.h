// Which overflow mode devices start in (aclrtSetDeviceSatMode before any device is open).
#pragma once

namespace updraft {

/// For devices that are opened from now on; those that are open keep theirs.
void set_default_saturation(bool on);
bool default_saturation();

}  // namespace updraft
