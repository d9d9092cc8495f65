#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "operations.h"

namespace hccl_test {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

double number(const std::string& name, const char* text, double least, double most, std::string* rest = nullptr) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text, &end);
  if (rest) *rest = end;
  if (end == text || errno || (!rest && *end) || !(value >= least && value <= most))
    refuse(name + " is " + text + ", want a number of " + std::to_string(static_cast<int64_t>(least)) + " to " +
           std::to_string(static_cast<int64_t>(most)));
  return value;
}

int whole(const std::string& name, const char* text, int least) {
  const double value = number(name, text, least, 1000000000);
  if (value != std::floor(value)) refuse(name + " is " + text + ", want a whole number");
  return static_cast<int>(value);
}

/// 8, 4K, 64M, 1G
uint64_t bytes(const std::string& name, const char* text) {
  std::string unit;
  const double value = number(name, text, 0, 1e12, &unit);
  const std::string units = "KMG";
  int shift = 0;
  if (!unit.empty()) {
    const size_t at = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
    const std::string tail = unit.substr(1);
    if (at == std::string::npos || !(tail.empty() || tail == "B" || tail == "b" || tail == "iB"))
      refuse(name + " is " + text + ", want bytes such as 8, 4K, 64M or 1G");
    shift = 10 * static_cast<int>(at + 1);
  }
  return static_cast<uint64_t>(std::ldexp(value, shift));
}

HcclReduceOp reduction(const std::string& text) {
  for (const auto& [name, op] : {std::pair{"sum", HCCL_REDUCE_SUM},
                                 {"prod", HCCL_REDUCE_PROD},
                                 {"max", HCCL_REDUCE_MAX},
                                 {"min", HCCL_REDUCE_MIN}})
    if (text == name) return op;
  refuse("-o is " + text + ", want sum, prod, max or min");
}

bool flag(const std::string& name, const std::string& text) {
  if (text != "0" && text != "1") refuse(name + " is " + text + ", want 0 or 1");
  return text == "1";
}

}  // namespace

uint64_t Options::next(uint64_t size) const {
  if (step) return size + step;
  return std::max(size + 1, static_cast<uint64_t>(static_cast<double>(size) * factor));
}

std::string usage() {
  return "usage: hccl_test OPERATION [options]\n"
         "OPERATION: " +
         operation_names() +
         "\n"
         "  -b, --minbytes N     smallest size (8, 4K, 64M, 1G; 64M): bytes of a rank's larger buffer\n"
         "  -e, --maxbytes N     largest size (as -b)\n"
         "  -f, --stepfactor X   each size is X times the one before (2)\n"
         "  -i, --stepbytes N    each size is N bytes more than the one before\n"
         "  -d, --datatype T     " +
         Number::names() +
         " (fp32)\n"
         "  -o, --op O           sum prod max min (sum)\n"
         "  -r, --root R         root of broadcast, reduce and scatter (0)\n"
         "  -n, --iters N        operations that are timed (20)\n"
         "  -w, --warmup_iters N operations before them (10)\n"
         "  -c, --check 0|1      compare the results with values computed apart (1)\n"
         "  -p, --npus N         start N ranks here; under a launcher: ranks a host\n"
         "  -s, --sync 0|1       wait for each operation before the next is given: its latency (0)\n"
         "  -z, --in_place 0|1   all_reduce writes over its input (0)\n"
         "      --root-info FILE under a launcher: file that all ranks see, by which rank 0 tells its address\n"
         "      --rank-table FILE --rank N   this process is rank N of the table, on the device that DEVICE_ID says "
         "(0)\n"
         "Launchers: OpenMPI, MPICH and others with PMI, torchrun, or RANK_ID and RANK_SIZE in the environment.\n"
         "The exit status is 1 when anything failed or a result was wrong.\n";
}

Options parse(int argc, char** argv) {
  Options o;
  // all_reduce_test is hccl_test all_reduce
  const std::string program = std::strrchr(argv[0], '/') ? std::strrchr(argv[0], '/') + 1 : argv[0];
  if (program != "hccl_test" && program.size() > 5 && program.ends_with("_test"))
    o.operation = program.substr(0, program.size() - 5);
  bool begin = false, end = false;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name.empty() || name[0] != '-') {
      if (!o.operation.empty()) refuse("two operations: " + o.operation + " and " + name);
      o.operation = name;
      continue;
    }
    std::string inside;
    const size_t equals = name.find('=');
    if (name.starts_with("--") && equals != std::string::npos) {
      inside = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc) {
      inside = argv[++i];
    } else {
      refuse(name + " wants a value");
    }
    const char* value = inside.c_str();
    if (name == "-b" || name == "--minbytes") o.begin = bytes(name, value), begin = true;
    else if (name == "-e" || name == "--maxbytes") o.end = bytes(name, value), end = true;
    else if (name == "-i" || name == "--stepbytes") o.step = bytes(name, value);
    else if (name == "-f" || name == "--stepfactor") o.factor = number(name, value, 1, 1e6);
    else if (name == "-d" || name == "--datatype") o.number = Number::of(value);
    else if (name == "-o" || name == "--op") o.op = reduction(value);
    else if (name == "-r" || name == "--root") o.root = static_cast<uint32_t>(whole(name, value, 0));
    else if (name == "-n" || name == "--iters") o.iterations = whole(name, value, 1);
    else if (name == "-w" || name == "--warmup_iters") o.warmup = whole(name, value, 0);
    else if (name == "-c" || name == "--check") o.check = flag(name, value);
    else if (name == "-p" || name == "--npus") o.ranks = whole(name, value, 1);
    else if (name == "-s" || name == "--sync") o.alone = flag(name, value);
    else if (name == "-z" || name == "--in_place") o.in_place = flag(name, value);
    else if (name == "--root-info") o.root_info = value;
    else if (name == "--rank-table") o.rank_table = value;
    else if (name == "--rank") o.rank = whole(name, value, 0);
    else refuse("there is no option " + name);
  }
  if (o.operation.empty()) refuse("no operation");
  if (!is_operation(o.operation)) refuse("there is no operation " + o.operation + ": want " + operation_names());
  if (begin && !end) o.end = std::max(o.end, o.begin);
  if (end && !begin) o.begin = std::min(o.begin, o.end);
  if (o.begin > o.end) refuse("-b is larger than -e");
  if (o.rank_table.empty() != (o.rank < 0)) refuse("--rank-table and --rank come together");
  if (!o.rank_table.empty() && (o.ranks || !o.root_info.empty()))
    refuse("--rank-table goes without -p and --root-info");
  if (o.in_place && o.operation != "all_reduce") refuse("-z 1 is for all_reduce");
  return o;
}

}  // namespace hccl_test
