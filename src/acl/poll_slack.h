// Keeps threads that a client starts to poll from eating a core.
#pragma once

namespace updraft {

// torch_npu's release thread asks its queue every microsecond (select with 1 us): 15,000 wake-ups a second, a third of
// a core. On a card that core is the host's to spare; here the operators compute on it. The thread is started right
// after the client creates its stream and inherits the creator's timer slack (prctl(2)), so coarsen_new_threads(),
// called where a stream is created, raises the slack to 1 ms and the creator's next call of restore_own() puts its own
// back. Only timed sleeps of threads started in between are affected: they may end up to 1 ms late.
void coarsen_new_threads();
void restore_own();

}  // namespace updraft
