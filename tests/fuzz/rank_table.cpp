// Rank tables: the input is one. What is refused is refused with EI0004; what is taken is sound and the same again.
#include "collective/topology/rank_table.h"

#include <string>

#include "base/error.h"
#include "collective/error.h"
#include "input.h"

using namespace updraft::collective;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const RankTable table = parse_rank_table(text);
    if (table.status == "initializing") {
      if (!table.ranks.empty()) fuzz::wrong("ranks of an initializing table", static_cast<int64_t>(table.ranks.size()));
      return 0;
    }
    if (table.status != "completed" || table.ranks.empty() || table.digest.size() != 32) fuzz::wrong("table", 0);
    for (size_t i = 0; i < table.ranks.size(); ++i) {
      const RankEntry& e = table.ranks[i];
      if (e.rank != i) fuzz::wrong("rank", e.rank);
      if (e.device < 0 || e.device >= 2) fuzz::wrong("device", e.device);  // UPDRAFT_DEVICES
      if (e.server.empty() || (table.version.empty() == e.pod.empty())) fuzz::wrong("server or pod", e.rank);
      if ((table.version == "1.2") == e.super_pod.empty()) fuzz::wrong("super pod", e.rank);
    }
    if (parse_rank_table(text).digest != table.digest) fuzz::wrong("digest", 0);
    for (const char* product : {"Ascend910A", "Ascend910B2", "Ascend910_9391"}) {
      try {
        check_card_limits(table, *updraft::find_soc(product));
      } catch (const updraft::Error& e) {
        if (!e.text().starts_with("EI0004: ")) fuzz::wrong(e.what(), e.code());
      }
    }
    Launch launch;
    launch.rank_text = table.version.empty() ? table.ranks[0].pod : "0";
    launch.device = table.ranks[0].device;
    if (own_entry(table, launch).rank != 0 && !table.version.empty()) fuzz::wrong("own entry", 0);
  } catch (const updraft::Error& e) {
    if (e.code() != result::kPara || !e.text().starts_with("EI000")) fuzz::wrong(e.what(), e.code());
  }
  return 0;
}
