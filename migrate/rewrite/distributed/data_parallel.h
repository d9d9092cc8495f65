#pragma once
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

/// torch.nn.DataParallel(…): DistributedDataParallel as a change for review.
void data_parallel(Sites& sites);

}  // namespace updraft::migrate::rewrite
