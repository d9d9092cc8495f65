// What the migration tools know: the input is a name, a version, a dtype's limits and a cell of a spreadsheet.
#include <stdexcept>
#include <string>

#include "input.h"
#include "migrate/report/table.h"
#include "migrate/support/tf_api.h"
#include "migrate/support/third_party.h"
#include "migrate/support/torch_api.h"

using namespace updraft::migrate;

namespace {

/// Only what XML holds stands between the marks of a cell; the file is not compressed, so it is found as it is.
void check_cell(const std::string& file) {
  const size_t at = file.find("A2\" s=\"2\" t=\"inlineStr\"><is><t xml:space=\"preserve\">");
  const size_t start = file.find("preserve\">", at) + 10, end = file.find("</t>", start);
  if (at == std::string::npos || end == std::string::npos) fuzz::wrong("no cell", static_cast<int64_t>(file.size()));
  for (size_t i = start; i < end; ++i) {
    const auto c = static_cast<unsigned char>(file[i]);
    if (c == '<' || c == '>' || c == '"' || (c < 0x20 && c != '\t' && c != '\n')) fuzz::wrong("character", c);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (nearest_torch(text) >= std::size(kTorchVersions)) fuzz::wrong("version", 0);
  } catch (const std::invalid_argument&) {}
  try {
    parse_product(text);
  } catch (const std::invalid_argument&) {}
  for (size_t version = 0; version < std::size(kTorchVersions); ++version) {
    const TorchApi api = lookup_torch(text, version, Product::ascend950);
    if (api.api.empty() != source_url(api, version).empty())
      fuzz::wrong("a row without a page", static_cast<int64_t>(version));
  }
  describe_limits(text, Language::zh);
  accepts_dtype(text, "fp32");
  accepts_dtype("input: fp32", text);
  const ThirdParty package = lookup_third_party(text);
  if (package.listed && text.compare(0, package.name.size(), package.name) != 0) fuzz::wrong("package", 0);
  lookup_distribution(text);
  cuda_twin(text);
  runs_on(text);
  lookup_affinity(text);
  lookup_advice(text, Product::a2);
  const TfApi tf = lookup_tf(text);
  if (!tf.listed && tf.support != TfClass::analysing)
    fuzz::wrong("TensorFlow's class", static_cast<int64_t>(tf.support));
  Xlsx book;
  book.add_sheet(text, {{text, 10, true}});
  book.add_row({text});
  check_cell(std::move(book).finish());
  return 0;
}
