// The same tables as a SQLite database, msprof_*.db, and communication_analyzer.db.
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "observe/profiling/export/metrics.h"
#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {
namespace {

constexpr int kWriteFile = 100004;  // ACL_ERROR_WRITE_FILE

class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {
    std::remove(part().c_str());
    if (sqlite3_open(part().c_str(), &db_) != SQLITE_OK) fail("made");
    // It is nobody's until it has its name: nothing has to survive a crash.
    run("PRAGMA journal_mode=OFF");
    run("PRAGMA synchronous=OFF");
    run("BEGIN");
  }
  ~Database() {
    if (!db_) return;
    sqlite3_close(db_);
    std::remove(part().c_str());
  }
  Database(const Database&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("written");
  }
  void done() {
    run("COMMIT");
    if (sqlite3_close(db_) != SQLITE_OK) fail("closed");
    db_ = nullptr;
    if (std::rename(part().c_str(), path_.c_str()) != 0)
      throw Error(kWriteFile, "{} cannot be written: {}", path_, std::strerror(errno));
  }
  [[noreturn]] void fail(const char* what) const {
    throw Error(kWriteFile, "{} cannot be {}: {}", path_, what, sqlite3_errmsg(db_));
  }
  sqlite3* handle() const { return db_; }

 private:
  std::string part() const { return draft_of(path_); }
  const std::string path_;
  sqlite3* db_ = nullptr;
};

// A table and the statement that fills it: Table(db, "TASK", "startNs INTEGER, …") and then row(1, "text", 2.5).
class Table {
 public:
  Table(Database& db, const std::string& name, const std::string& columns) : db_(db) {
    db.run("CREATE TABLE " + name + " (" + columns + ")");
    int count = 1;
    for (const char c : columns) count += c == ',';
    std::string marks = "?";
    for (int i = 1; i < count; ++i) marks += ",?";
    if (sqlite3_prepare_v2(db.handle(), ("INSERT INTO " + name + " VALUES (" + marks + ")").c_str(), -1, &statement_,
                           nullptr) != SQLITE_OK)
      db.fail("written");
  }
  ~Table() { sqlite3_finalize(statement_); }
  Table(const Table&) = delete;

  template <class... Values>
  void row(const Values&... values) {
    int place = 0;
    (bind(++place, values), ...);
    if (sqlite3_step(statement_) != SQLITE_DONE) db_.fail("written");
    sqlite3_reset(statement_);
  }

 private:
  void bind(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int at, const std::string& text) { bind(at, std::string_view(text)); }
  void bind(int at, const char* text) { bind(at, std::string_view(text)); }
  void bind(int at, double value) { sqlite3_bind_double(statement_, at, value); }
  template <class Integer>
    requires std::is_integral_v<Integer>
  void bind(int at, Integer value) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(value));
  }

  Database& db_;
  sqlite3_stmt* statement_ = nullptr;
};

class Strings {
 public:
  int64_t operator[](std::string_view text) {
    const auto found = ids_.find(std::string(text));
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<int64_t>(ids_.size()) + 1;  // readers take 0 for none
    ids_.emplace(text, id);
    return id;
  }
  void write(Database& db) {
    Table table(db, "STRING_IDS", "id INTEGER PRIMARY KEY, value TEXT");
    for (const auto& [text, id] : ids_) table.row(id, text);
  }

 private:
  std::unordered_map<std::string, int64_t> ids_;
};

constexpr int kAcl = 20000, kModel = 15000, kNode = 10000, kHccl = 5500, kRuntime = 5000;

struct Name {
  int id;
  const char* name;
};
constexpr Name kApiTypes[] = {
    {kAcl, "acl"}, {kModel, "model"}, {kNode, "node"}, {kHccl, "communication"}, {kRuntime, "runtime"}};
constexpr Name kHcclTypes[] = {{0, "INT8"},  {1, "INT16"},  {2, "INT32"},     {3, "FP16"},   {4, "FP32"},
                               {5, "INT64"}, {6, "UINT64"}, {7, "UINT8"},     {8, "UINT16"}, {9, "UINT32"},
                               {10, "FP64"}, {11, "BFP16"}, {255, "RESERVED"}};
constexpr Name kTransports[] = {{0, "SDMA"}, {1, "RDMA"}, {2, "LOCAL"}};
constexpr Name kLinks[] = {{0, "ON_CHIP"}, {1, "HCCS"}, {2, "PCIE"}, {3, "ROCE"}, {4, "SIO"}};
constexpr Name kMarkerTypes[] = {{0, "push/pop"}, {1, "marker"}, {2, "start/end"}, {3, "marker_ex"}};

template <size_t N>
void names(Database& db, const char* table, const Name (&list)[N]) {
  Table t(db, table, "id INTEGER PRIMARY KEY, name TEXT");
  for (const Name& n : list) t.row(n.id, n.name);
}

int hccl_type(std::string_view name) {
  static const std::map<std::string_view, int> ids = {
      {"INT8", 0},  {"INT16", 1},  {"INT32", 2},  {"FLOAT16", 3}, {"FLOAT", 4}, {"INT64", 5},    {"UINT64", 6},
      {"UINT8", 7}, {"UINT16", 8}, {"UINT32", 9}, {"DOUBLE", 10}, {"BF16", 11}, {"DT_BF16", 11}, {"BFLOAT16", 11}};
  const auto found = ids.find(name);
  return found == ids.end() ? 255 : found->second;
}

// "aic_mac_time(us)(modelled)" as readers of databases want it, who make attributes of names: aic_mac_time_us_modelled.
std::string identifier_of(std::string_view column) {
  std::string name;
  for (const char c : column) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (word) name += c;
    else if (!name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

class Writer {
 public:
  Writer(const Profile& profile, const std::vector<Collective>& collectives, Database& db)
      : p_(profile), collectives_(collectives), db_(db), links_(connect(profile)) {}

  void write() {
    names(db_, "ENUM_API_TYPE", kApiTypes);
    names(db_, "ENUM_HCCL_DATA_TYPE", kHcclTypes);
    names(db_, "ENUM_HCCL_TRANSPORT_TYPE", kTransports);
    names(db_, "ENUM_HCCL_LINK_TYPE", kLinks);
    names(db_, "ENUM_MSTX_EVENT_TYPE", kMarkerTypes);
    facts();
    calls();
    tasks();
    operators();
    communication();
    markers();
    memory();
    strings_.write(db_);
  }

 private:
  int64_t global_thread(int32_t thread) const {
    return static_cast<int64_t>(static_cast<uint64_t>(p_.process) << 32 | static_cast<uint32_t>(thread));
  }
  // Tasks of one call share its number.
  int64_t connection(size_t task) const {
    return links_.call[task] < 0 ? int64_t{kNone}
                                 : static_cast<int64_t>(p_.calls[static_cast<size_t>(links_.call[task])].correlation);
  }

  void facts() {
    Table host(db_, "HOST_INFO", "hostUid TEXT, hostName TEXT");
    host.row(p_.host_id, p_.host);
    Table npu(db_, "NPU_INFO", "id INTEGER, name TEXT");
    for (const int device : p_.devices) npu.row(device, p_.soc);
    Table ranks(db_, "RANK_DEVICE_MAP", "rankId INTEGER, deviceId INTEGER");
    for (const int device : p_.devices) ranks.row(p_.rank, device);
    Table meta(db_, "META_DATA", "name TEXT, value TEXT");
    meta.row("SCHEMA_VERSION", "1.2.0");
    uint64_t end = p_.begin;
    for (const TaskRecord& t : p_.tasks) end = std::max(end, t.ended);
    for (const CallRecord& c : p_.calls) end = std::max(end, c.end);
    Table session(db_, "SESSION_TIME_INFO", "startTimeNs INTEGER, endTimeNs INTEGER");
    session.row(p_.wall(p_.begin), p_.wall(end));
  }

  void calls() {
    Table table(db_, "CANN_API",
                "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER");
    const int64_t launch = strings_["launch"];
    for (size_t i = 0; i < p_.calls.size(); ++i) {
      const CallRecord& call = p_.calls[i];
      std::string name(p_.text(call.name));
      const bool collective = name.rfind("Hccl", 0) == 0;
      if (call.phase == 1) name += "GetWorkspaceSize";
      table.row(p_.wall(call.begin), p_.wall(call.end), collective ? kHccl : kAcl, global_thread(call.thread),
                call.correlation, strings_[name]);
      const int64_t t = links_.first_task[i];
      if (t < 0) continue;
      const TaskRecord& task = p_.tasks[static_cast<size_t>(t)];
      if (is_operator(task) || collective)
        table.row(p_.wall(call.begin), p_.wall(std::clamp(task.submitted, call.begin, call.end)), kNode,
                  global_thread(call.thread), call.correlation, launch);
    }
  }

  void tasks() {
    Table table(db_, "TASK",
                "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
                "globalPid INTEGER, "
                "taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER");
    for (size_t i = 0; i < p_.tasks.size(); ++i) {
      const TaskRecord& t = p_.tasks[i];
      table.row(p_.wall(t.begun), p_.wall(t.ended), t.device, connection(i), i, p_.process, strings_[core_of(p_, t)],
                kNone, stream_of(t), task_number(t), model_of(t));
    }
  }

  void operators() {
    Table table(
        db_, "COMPUTE_TASK_INFO",
        "name INTEGER, globalTaskId INTEGER, blockNum INTEGER, mixBlockNum INTEGER, taskType INTEGER, opType INTEGER, "
        "inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes "
        "INTEGER, "
        "outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, hf32Eligible INTEGER");
    const auto columns = p_.metrics.empty() ? std::vector<std::string>() : metric_columns(p_.metrics);
    std::unique_ptr<Table> pmu;
    if (!columns.empty())
      pmu = std::make_unique<Table>(db_, "TASK_PMU_INFO", "globalTaskId INTEGER, name INTEGER, value NUMERIC");
    const int64_t none = strings_["N/A"];
    for (size_t i = 0; i < p_.tasks.size(); ++i) {
      const TaskRecord& t = p_.tasks[i];
      if (!is_operator(t)) continue;
      const Tensors tensors = tensors_of(p_, t);
      const auto text = [&](size_t place) { return tensors.known ? strings_[tensors.text[place]] : none; };
      table.row(strings_[p_.text(t.name)], i, 0, 0, strings_[core_of(p_, t)], strings_[type_of(p_.text(t.name))],
                text(2), text(1), text(0), text(5), text(4), text(3),
                tensors.attributes.empty() ? none : strings_[tensors.attributes], strings_["static"], strings_["NO"]);
      if (!pmu) continue;
      const auto values = metric_values(p_.metrics, p_.soc, t);
      for (size_t k = 0; k < values.size(); ++k) pmu->row(i, strings_[identifier_of(columns[k])], values[k]);
    }
  }

  void communication() {
    if (collectives_.empty()) return;
    Table table(db_, "COMMUNICATION_OP",
                "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER "
                "PRIMARY KEY, "
                "relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER");
    Table parts(
        db_, "COMMUNICATION_TASK_INFO",
        "name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId INTEGER, "
        "rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, size INTEGER, dataType INTEGER, "
        "linkType INTEGER, opId INTEGER");
    int64_t id = 0;
    for (const Collective& c : collectives_) {
      const auto i = static_cast<size_t>(c.task - p_.tasks.data());
      const int64_t group = strings_[c.group.empty() ? "0" : c.group];
      table.row(strings_[c.name], p_.wall(c.task->begun), p_.wall(c.task->ended), connection(i), group, id, 0, 0,
                hccl_type(c.data_type), strings_["N/A"], c.count, strings_[c.type]);
      for (const Traffic& t : traffic_of(c))
        parts.row(strings_[c.name], i, strings_["Memcpy"], 0, group, -1, -1, t.from, t.to, t.from == t.to ? 2 : 0,
                  static_cast<int64_t>(t.bytes), hccl_type(c.data_type), 0, id);
      ++id;
    }
  }

  void markers() {
    if (p_.markers.empty()) return;
    Table table(db_, "MSTX_EVENTS",
                "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, message "
                "INTEGER, globalTid "
                "INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER");
    for (const MarkedSpan& span : marked_spans(p_)) {
      table.row(p_.wall(span.begin->time), p_.wall(span.end->time), span.is_mark() ? 3 : 2, span.begin->range,
                span.begin->category, strings_[p_.text(span.begin->message)], global_thread(span.begin->thread),
                global_thread(span.end->thread), strings_[p_.text(span.begin->domain)],
                span.begin->on_stream ? static_cast<int64_t>(span.begin->correlation) : int64_t{kNone});
    }
  }

  void memory() {
    if (p_.memory.empty()) return;
    Table table(db_, "NPU_MEM", "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER");
    for (const MemoryRecord& m : p_.memory) table.row(strings_["APP"], 0, m.used >> 10, p_.wall(m.time), m.device);
  }

  const Profile& p_;
  const std::vector<Collective>& collectives_;
  Database& db_;
  const Connections links_;
  Strings strings_;
};

}  // namespace

void write_database(const Profile& profile, const std::vector<Collective>& collectives, const std::string& folder,
                    const Selection& selection) {
  Database db(folder + "/msprof_" + selection.stamp + ".db");
  Writer(profile, collectives, db).write();
  db.done();
}

void write_communication_database(const Profile& p, const std::vector<Collective>& collectives,
                                  const std::string& analysis) {
  if (collectives.empty()) return;
  Database db(analysis + "/communication_analyzer.db");
  {
    Table bandwidth(db, "CommAnalyzerBandwidth",
                    "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time "
                    "NUMERIC, bandwidth "
                    "NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, total_duration NUMERIC");
    Table matrix(
        db, "CommAnalyzerMatrix",
        "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, "
        "transit_time NUMERIC, bandwidth NUMERIC");
    Table time(db, "CommAnalyzerTime",
               "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time "
               "NUMERIC, wait_time "
               "NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC");
    for (const Collective& c : collectives) {
      const std::string group = c.group.empty() ? "0" : c.group;
      const double elapse = static_cast<double>(c.task->ended - c.task->begun) * 1e-6;
      double megabytes = 0;
      for (const Traffic& t : traffic_of(c)) {
        const double part = t.bytes * 1e-6;
        megabytes += part;
        const bool local = t.from == t.to;
        matrix.row(c.name, group, std::to_string(t.from), std::to_string(t.to), local ? "LOCAL" : "SDMA", part,
                   local ? 0.0 : elapse, local || elapse <= 0 ? 0.0 : part / elapse);
      }
      bandwidth.row(c.name, group, "SDMA", megabytes, elapse, elapse > 0 ? megabytes / elapse : 0.0, 0, megabytes, 1,
                    elapse);
      time.row(c.name, group, static_cast<double>(p.wall(c.task->begun)) * 1e-3, elapse, elapse, 0, 0, 0);
    }
  }
  db.done();
}

}  // namespace updraft::profiling
