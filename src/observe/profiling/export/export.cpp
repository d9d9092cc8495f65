#include "observe/profiling/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

namespace fs = std::filesystem;

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  return text;
}

std::string folder_in(const std::string& profile, const char* name) {
  const fs::path path = fs::path(profile) / name;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(100004, "the folder {} cannot be made: {}", path.string(), error.message());
  return path;
}

std::vector<std::string> fields_of(std::ifstream& in) {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false, any = false;
  for (int c = in.get(); c != EOF; c = in.get()) {
    any = true;
    if (quoted) {
      if (c == '"' && in.peek() == '"') field += static_cast<char>(in.get());
      else if (c == '"') quoted = false;
      else field += static_cast<char>(c);
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      break;
    } else if (c != '\t') {
      field += static_cast<char>(c);
    }
  }
  if (any) fields.push_back(std::move(field));
  return fields;
}

// A table as a JSON list of objects, column by column.
void write_as_json(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TextFile out(path.substr(0, path.size() - 4) + ".json");
  const auto columns = fields_of(in);
  out << '[';
  bool first = true;
  for (auto row = fields_of(in); !row.empty(); row = fields_of(in)) {
    out << (first ? "\n{" : ",\n{");
    first = false;
    for (size_t i = 0; i < std::min(row.size(), columns.size()); ++i) {
      if (i) out << ", ";
      out.json(columns[i]) << ": ";
      out.json(row[i]);
    }
    out << '}';
  }
  out << "\n]\n";
  out.done();
}

std::string said(const Profile& p) {
  std::string text;
  for (const auto& remark : p.remarks) text += remark + "\n";
  if (p.lost)
    text += fmt::format("{} blocks of records could not be written while the profile was made (disk full?)\n", p.lost);
  if (p.damaged)
    text += fmt::format("{} files of records are damaged: what is behind the damage is missing\n", p.damaged);
  return text;
}

}  // namespace

Profile select(Profile p, const Selection& selection) {
  if (selection.model >= 0)
    std::erase_if(p.tasks, [&](const TaskRecord& t) { return t.model != static_cast<uint32_t>(selection.model); });
  if (selection.iteration >= 0) {
    const auto iterations = iterations_of(p, collectives_of(p));
    std::vector<Iteration> wanted;
    for (const Iteration& it : iterations)
      if (it.number == selection.iteration) wanted.push_back(it);
    if (wanted.empty())
      throw Error(code::kAclInvalidParam, "{} has no iteration {}: there are {} (msprof --query=on --output={})",
                  p.folder, selection.iteration, iterations.size(), p.folder);
    const auto inside = [&](uint64_t begin, int device) {
      return std::any_of(wanted.begin(), wanted.end(), [&](const Iteration& it) {
        return (device < 0 || it.device == device) && begin >= it.begin && begin <= it.end;
      });
    };
    std::erase_if(p.tasks, [&](const TaskRecord& t) { return !inside(t.begun, t.device); });
    std::erase_if(p.memory, [&](const MemoryRecord& m) { return !inside(m.time, m.device); });
  }
  if (selection.model >= 0 || selection.iteration >= 0) {
    std::set<uint64_t> kept;
    for (const TaskRecord& t : p.tasks) kept.insert(t.correlation);
    std::erase_if(p.calls, [&](const CallRecord& c) { return !kept.count(c.correlation); });
  }
  return p;
}

bool has_task_times(const Profile& p) {
  // Profiles that a program asks for by aclprofCreateConfig have these bits, too.
  constexpr uint64_t kTimes = data::kAnyTasks & ~(data::kAicpu | data::kHcclTrace | data::kTrainingTrace);
  return (p.switches & kTimes) != 0;
}

void drop_unasked(Profile& p) {
  const bool times = has_task_times(p);
  std::erase_if(p.tasks, [&](const TaskRecord& task) {
    const std::string_view core = core_of(p, task);
    if (core == "COMMUNICATION") return !p.collectives;
    if (times || task.kind == static_cast<uint8_t>(TaskKindOf::Control)) return false;  // marks of streams, for one
    return core != "AI_CPU" || !(p.switches & data::kAicpu);
  });
}

std::vector<std::string> export_profile(const std::string& folder, const ExportOptions& options) {
  Selection selection;
  selection.stamp = now();
  selection.iteration = options.iteration;
  selection.model = options.model;
  Profile profile = select(read_profile(folder), selection);
  const auto iterations = iterations_of(profile, collectives_of(profile));
  drop_unasked(profile);
  const auto collectives = collectives_of(profile);
  std::vector<std::string> written;
  if (options.text) {
    const std::string output = folder_in(folder, "mindstudio_profiler_output");
    std::set<std::string> before;
    for (const auto& entry : fs::directory_iterator(output)) before.insert(entry.path());
    // Whoever waits for a table finds the timeline complete.
    write_timeline(profile, collectives, iterations, output, selection);
    if (has_task_times(profile)) write_operators(profile, collectives, output, selection);
    write_calls(profile, output, selection);
    write_communication_statistic(profile, collectives, output, selection);
    write_memory(profile, output, selection);
    write_steps(profile, iterations, output, selection);
    write_links(profile, collectives, output, selection);
    write_markers(profile, output, selection);
    write_host(profile, output, selection);
    if (profile.switches & data::kAicpu) write_aicpu(profile, output, selection);
    if (const std::string text = said(profile); !text.empty()) {
      TextFile out(output + "/README.txt");
      out << text;
      out.done();
    }
    for (const auto& entry : fs::directory_iterator(output))
      if (!before.count(entry.path()) && entry.path().extension() != ".part") written.push_back(entry.path());
    if (options.json_tables)
      for (const std::string& path : std::vector<std::string>(written))
        if (path.size() > 4 && path.substr(path.size() - 4) == ".csv") {
          write_as_json(path);
          written.push_back(path.substr(0, path.size() - 4) + ".json");
        }
  }
  if (options.database) {
    write_database(profile, collectives, folder, selection);
    written.push_back(folder + "/msprof_" + selection.stamp + ".db");
  }
  std::sort(written.begin(), written.end());
  return written;
}

std::vector<std::string> analyze_profile(const std::string& folder, const AnalysisOptions& options) {
  Profile profile = read_profile(folder);
  drop_unasked(profile);
  const auto collectives = collectives_of(profile);
  if (collectives.empty()) return {};
  const std::string analysis = folder_in(folder, "analyze");
  if (options.database) {
    write_communication_database(profile, collectives, analysis);
    return {analysis + "/communication_analyzer.db"};
  }
  write_communication(profile, collectives, analysis);
  std::vector<std::string> written;
  if (options.communication) written.push_back(analysis + "/communication.json");
  else fs::remove(analysis + "/communication.json");
  if (options.matrix) written.push_back(analysis + "/communication_matrix.json");
  else fs::remove(analysis + "/communication_matrix.json");
  return written;
}

std::string query_profile(const std::string& folder) {
  const Profile profile = read_profile(folder);
  std::string text =
      fmt::format("{:<44} {:>9} {:>12} {:>12} {:>14}\n", "Profile", "Device", "Model ID", "Iteration", "Time(us)");
  const auto iterations = iterations_of(profile, collectives_of(profile));
  const std::string name = fs::path(folder).filename();
  for (const Iteration& it : iterations)
    text += fmt::format("{:<44} {:>9} {:>12} {:>12} {:>14.3f}\n", name, it.device, it.model, it.number,
                        static_cast<double>(it.end - it.begin) * 1e-3);
  if (iterations.empty())
    for (const int device : profile.devices)
      text += fmt::format("{:<44} {:>9} {:>12} {:>12} {:>14}\n", name, device, "N/A", "N/A", "N/A");
  return text;
}

}  // namespace updraft::profiling
