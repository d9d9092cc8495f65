#include "migrate/text/readers.h"

#include <cctype>
#include <string>

#include "migrate/support/third_party.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {
namespace {

bool is_package_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'; }

/// +cu121, /cu121, =cuda118, py3.11_cuda12.1_cudnn8
bool cuda_build(std::string_view version) {
  for (std::size_t at = 0; (at = version.find("cu", at)) != std::string_view::npos; at += 2) {
    const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(version[at - 1]));
    std::size_t digit = at + 2;
    if (version.substr(digit, 2) == "da") digit += 2;
    if (starts && digit < version.size() &&
        (std::isdigit(static_cast<unsigned char>(version[digit])) || version[digit] == '*'))
      return true;
  }
  return false;
}

constexpr std::size_t kLongestName = 200;

void cuda_build_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  Finding& f =
      sheet.add("TX231", Category::ThirdParty, Confidence::Certain, begin, end,
                {std::string(name) +
                     " is asked for as a CUDA build: take the CPU build and, of torch, torch-npu of the same version",
                 std::string(name) + " 指定了 CUDA 版本：请改用 CPU 版本，并为 torch 安装同版本的 torch-npu"});
  f.api = name;
  f.suggestion = name == "torch" ? "torch+cpu, torch-npu" : "";
}

bool package_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  if (name.size() > kLongestName) return false;
  const ThirdParty known = lookup_distribution(name);
  if (!worth_saying(known)) return false;
  Finding& f = sheet.add("TX232", Category::ThirdParty, Confidence::Certain, begin, end,
                         {sentence(known, name, Language::en), sentence(known, name, Language::zh)});
  f.api = name;
  f.suggestion = known.alternative;
  return true;
}

}  // namespace

void requirement(Sheet& sheet, std::string_view spec, std::size_t begin) {
  std::size_t at = 0;
  if (const std::size_t channel = spec.find("::"); channel != std::string_view::npos) at = channel + 2;
  if (spec.starts_with("http:") || spec.starts_with("https:") || spec.starts_with("git+") ||
      spec.starts_with("file:")) {
    // …/torch-2.1.0%2Bcu118-cp310-….whl, git+https://github.com/NVIDIA/apex.git@sha
    const bool git = spec.starts_with("git+");
    std::string_view path = spec.substr(0, spec.find_first_of("#?;"));
    if (const std::size_t ref = path.rfind('@'); git && ref != std::string_view::npos && ref > path.find("://") + 3)
      path = path.substr(0, ref);
    if (path.ends_with(".git")) path.remove_suffix(4);
    std::string_view last = path.substr(path.rfind('/') + 1);
    std::string_view version = last;
    if (!git) last = last.substr(0, last.find('-'));
    if (package_finding(sheet, last, begin, begin + path.size())) return;
    if (!git && (cuda_build(version) || version.find("%2Bcu") != std::string_view::npos))
      cuda_build_finding(sheet, last, begin, begin + path.size());
    return;
  }
  std::size_t end = at;
  while (end < spec.size() && is_package_byte(spec[end])) ++end;
  const std::string_view name = spec.substr(at, end - at);
  if (name.empty()) return;
  std::size_t stop = spec.find_first_of(";#", end);
  if (stop == std::string_view::npos) stop = spec.size();
  while (stop > end && std::isspace(static_cast<unsigned char>(spec[stop - 1]))) --stop;
  const std::string_view version = spec.substr(end, stop - end);
  if (const std::size_t url = version.find("@"); url != std::string_view::npos) {
    if (package_finding(sheet, name, begin + at, begin + stop)) return;
  }
  requirement(sheet, name, version, begin + at, begin + stop);
}

void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end) {
  if (package_finding(sheet, name, begin, end)) return;
  if (cuda_build(version)) cuda_build_finding(sheet, name, begin, end);
}

void package_index(Sheet& sheet, std::string_view url, std::size_t begin) {
  const bool pytorch = url.find("download.pytorch.org/whl") != std::string_view::npos &&
                       url.find("/whl/cpu") == std::string_view::npos && !url.ends_with("/whl") &&
                       !url.ends_with("/whl/");
  const bool nvidia = url.find("pypi.nvidia.com") != std::string_view::npos ||
                      url.find("pypi.ngc.nvidia.com") != std::string_view::npos ||
                      url.find("developer.download.nvidia.com") != std::string_view::npos;
  if (!pytorch && !nvidia && !cuda_build(url)) return;
  if (!pytorch && !nvidia && url.find("://") == std::string_view::npos) return;
  sheet.add(
      "TX233", Category::ThirdParty, Confidence::Certain, begin, begin + url.size(),
      {"an index of CUDA builds: PyTorch's for the CPU is https://download.pytorch.org/whl/cpu, torch-npu is on PyPI",
       "CUDA 版本的软件源：PyTorch CPU 版本在 https://download.pytorch.org/whl/cpu，torch-npu 在 PyPI"});
}

}  // namespace updraft::migrate::text
