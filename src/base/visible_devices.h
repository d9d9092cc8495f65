// ASCEND_RT_VISIBLE_DEVICES counts until a device is used: clients set it after they have loaded the library, and even
// after they have asked how many devices there are.
#pragma once

namespace updraft {

/// Reads the variable anew, unless a device was used.
void read_visible_devices();
/// Reads it for the last time. Before the first device is made.
void keep_visible_devices();

}  // namespace updraft
