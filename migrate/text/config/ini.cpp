// INI, setup.cfg, .properties: sections, key = value, values that go on in indented lines.
#include <algorithm>

#include "migrate/text/config/reader.h"

namespace updraft::migrate::text {

void read_ini(std::string_view text, ConfigHandler& handler) {
  KeyPath path;
  bool in_value = false;
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const auto emit = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i + 1 < end; ++i)  // a comment after the value
      if (is_blank(text[i]) && (text[i + 1] == '#' || text[i + 1] == ';')) end = i;
    while (begin < end && is_blank(text[begin])) ++begin;
    while (end > begin && is_blank(text[end - 1])) --end;
    Scalar s;
    if (end - begin >= 2 && (text[begin] == '"' || text[begin] == '\'') && text[end - 1] == text[begin]) {
      s.style = Scalar::Style::Quoted;
      ++begin;
      --end;
    }
    if (begin == end) return;
    s.begin = begin;
    s.end = end;
    s.raw = text.substr(begin, end - begin);
    s.direct = s.raw.find('\\') == std::string_view::npos;
    handler.value(path, s);
  };
  while (at < text.size()) {
    const std::size_t begin = at;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    at = std::min(end + 1, text.size());
    std::size_t first = begin;
    while (first < end && is_blank(text[first])) ++first;
    if (first == end) continue;
    const char c = text[first];
    if (c == '#' || c == ';') continue;
    if (first > begin && in_value) {
      emit(first, end);
      continue;
    }
    in_value = false;
    if (c == '[') {
      while (path.depth() > 0) path.pop();
      const std::size_t close = text.substr(0, end).find(']', first);
      path.push(text.substr(
          first + 1,
          std::min<std::size_t>(close == std::string_view::npos ? end - first - 1 : close - first - 1, 200)));
      path.push("");
      continue;
    }
    const std::size_t separator = text.substr(0, end).find_first_of("=:", first);
    if (separator == std::string_view::npos) continue;
    std::size_t key_end = separator;
    while (key_end > first && is_blank(text[key_end - 1])) --key_end;
    if (key_end == first) continue;
    if (path.depth() == 0) path.push("");
    const Scalar key{first, key_end, text.substr(first, key_end - first), Scalar::Style::Plain, true};
    path.replace(key.raw.substr(0, 200));
    handler.key(path, key);
    in_value = true;
    emit(separator + 1, end);
  }
}

}  // namespace updraft::migrate::text
