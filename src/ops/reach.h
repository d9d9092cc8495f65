// Whether an operator may touch what a tensor describes.
#pragma once
#include "ops/handles.h"

namespace updraft {

/// Throws when the view has elements and no memory, or reaches out of the allocation on a device that holds its
/// storage: kernels would damage other tensors or crash.
/// Where the rules of the card hold (Config::card_rules()), host memory is refused unless it is registered.
void check_reach(const char* name, const aclTensor& tensor);

/// While one lives, the thread plans with scratch of the library, which may lie on the host.
class OwnScratch {
 public:
  OwnScratch();
  ~OwnScratch();
  OwnScratch(const OwnScratch&) = delete;

 private:
  bool before_;
};

}  // namespace updraft
