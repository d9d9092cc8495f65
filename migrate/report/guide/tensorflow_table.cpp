#include "migrate/report/guide/tensorflow_table.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "migrate/report/guide/tensorflow.h"
#include "migrate/report/table/xlsx.h"

namespace updraft::migrate::report {

std::string api_analysis_table(const ProjectResult& result) {
  Xlsx book;
  book.add_sheet("api_analysis_report", {{"序号", 8},
                                         {"脚本文件名", 36},
                                         {"代码行", 10},
                                         {"模块名", 28},
                                         {"API名", 44},
                                         {"工具迁移API支持度", 40},
                                         {"说明", 60}});
  std::int64_t number = 0;
  for (const FileResult& file : result.files) {
    std::set<std::pair<std::uint32_t, std::string_view>> seen;  // several findings may be about one use
    for (const Finding& finding : file.findings) {
      const auto support = support_class(finding, nearest_tf(result.request.facts));
      if (!support || !seen.emplace(finding.begin, finding.api).second) continue;
      const std::string_view api = finding.api;
      // tensorflow.keras of tensorflow.keras.layers.Dense; of an API right below the framework, the framework
      const std::size_t first = api.find('.'), dot = first == std::string_view::npos ? first : api.find('.', first + 1);
      book.add_row({++number, std::string_view(file.path), static_cast<std::int64_t>(finding.from.line),
                    api.substr(0, dot != std::string_view::npos ? dot : first), api, describe(*support).zh,
                    std::string_view(finding.message.zh)});
    }
  }
  return std::move(book).finish();
}

}  // namespace updraft::migrate::report
