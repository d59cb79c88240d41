#include "analysis/database/stored_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/database/schema.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

const std::vector<std::string> usual_keys{"scenario", "variant"};

const fs::path& existing(const fs::path& file) {
    if (!fs::is_regular_file(file)) {
        throw InputError(file.string(), "",
                         fs::exists(file) ? "expected a database of runs, found no regular file"
                                          : "cannot be opened: there is no such file");
    }
    return file;
}

// As a table shows it: 216000, not 216000.0.
std::string shown(const SqliteStatement& row, int field) {
    return row.is_real(field) ? fmt::format("{}", row.real(field)) : std::string(row.text(field));
}

// Runs without traces have no record, no trace and no window.
std::string question_of(const RunKind& kind, const RunGrouping& grouping,
                        std::span<const RunFilter> filters) {
    std::string sql = "SELECT ";
    for (const std::string& key : grouping.keys) sql += sql_name(key) + ", ";
    sql += fmt::format("{}, scenario_id, {}, seed, {}, finished, deadline_met", kind.compared,
                       kind.has_traces ? "record, trace, start_s, stretch" : "'', '', 0.0, 0",
                       kind.hash);
    for (const std::string& metric : grouping.metrics) sql += ", " + sql_name(metric);
    sql += " FROM runs WHERE build = ?";
    for (const RunFilter& filter : filters) {
        sql += fmt::format(" AND {} IN (?", sql_name(filter.column));
        for (std::size_t i = 1; i < filter.values.size(); ++i) sql += ", ?";
        sql += ")";
    }
    sql += " ORDER BY ";
    // Variants in the order in which they were asked for.
    const bool usual = std::ranges::equal(
        std::span(grouping.keys).first(std::min(usual_keys.size(), grouping.keys.size())),
        usual_keys);
    if (usual) sql += "scenario_id, ";
    for (const std::string& key : grouping.keys) sql += sql_name(key) + ", ";
    return sql +
           fmt::format("{}, {}seed", kind.compared, kind.has_traces ? "trace, start_s, " : "");
}

UnitRun run_in(const SqliteStatement& row, int field, std::size_t metrics) {
    UnitRun run;
    run.unit.policy = row.text(field++);
    run.scenario = row.integer(field++);
    run.unit.record = row.text(field++);
    run.unit.trace = row.text(field++);
    run.unit.start_s = row.real(field++);
    run.unit.stretch = row.integer(field++);
    run.unit.seed = static_cast<std::uint64_t>(row.integer(field++));
    run.unit.event_hash = row.text(field++);
    run.finished = row.integer(field++) != 0;
    if (!row.is_nothing(field)) run.deadline_met = row.integer(field) != 0;
    ++field;
    for (std::size_t metric = 0; metric < metrics; ++metric) {
        run.values.push_back(row.real(field++));
    }
    return run;
}

}  // namespace

StoredRuns::StoredRuns(const fs::path& file)
    : file_(file),
      database_(existing(file), SqliteDatabase::Access::read),
      kind_(kind_in(database_)) {
    if (kind_ == nullptr) {
        throw InputError(file.string(), "", "expected a database of runs, found an empty one");
    }
    SqliteStatement columns(database_, "SELECT name, type FROM pragma_table_info('runs')");
    while (columns.step()) {
        columns_.push_back({std::string(columns.text(0)), std::string(columns.text(1))});
    }
}

std::vector<std::string> StoredRuns::builds() {
    std::vector<std::string> found;
    SqliteStatement rows(database_, "SELECT build FROM builds ORDER BY build_id");
    while (rows.step()) found.emplace_back(rows.text(0));
    return found;
}

std::string StoredRuns::build_called(const std::string& part) {
    const std::vector<std::string> all = builds();
    if (all.empty()) throw InputError(file_.string(), "", "holds no runs (yet)");
    if (part.empty()) return all.back();
    const auto found = std::ranges::find_if(
        all, [&](const std::string& one) { return one.find(part) != std::string::npos; });
    if (found != all.end()) return *found;
    throw InputError(
        "--build", "",
        fmt::format("expected one of {}, found {}", fmt::join(all, "; "), ukemi::quoted(part)));
}

std::vector<std::string> StoredRuns::policies() {
    std::vector<std::string> found;
    SqliteStatement rows(database_, "SELECT policy FROM policies ORDER BY policy_id");
    while (rows.step()) found.emplace_back(rows.text(0));
    return found;
}

std::string StoredRuns::decider_called(const std::string& name, std::string_view option) {
    return policy_called(name, policies(), option, kind_->compared);
}

bool StoredRuns::has_scenarios_of_one_name() {
    return database_.integer(
               "SELECT count(*) - count(DISTINCT scenario || char(10) || variant) FROM scenarios") >
           0;
}

// The first scenario that has the key says which unit its column is in.
std::string StoredRuns::varied_column_of(const std::string& pointer) {
    SqliteStatement rows(database_, "SELECT DISTINCT varied FROM scenarios");
    while (rows.step()) {
        const auto varied = nlohmann::json::parse(rows.text(0), nullptr, false);
        if (!varied.is_object() || !varied.contains(pointer)) continue;
        const auto amount = records::varied_amount(varied.at(pointer).get<std::string>());
        return records::varied_column_name(pointer, amount ? amount->unit : "");
    }
    return {};
}

std::string StoredRuns::column_meant(const std::string& name, bool number, const char* option) {
    const std::string column = name.starts_with('/') ? varied_column_of(name) : name;
    const auto names = [&](const Column& one) {  // also by a number
        const auto own = std::ranges::find(kind_->columns, one.name, &NamedColumn::name);
        return one.type == "TEXT" ||
               (own != kind_->columns.end() && own->kind == records::RunColumnKind::identifier);
    };
    std::vector<std::string_view> known;
    for (const Column& one : columns_) {
        if (number && names(one)) continue;
        if (one.name == column) return column;
        known.push_back(one.name);
    }
    const bool is_text = std::ranges::find(columns_, column, &Column::name) != columns_.end();
    throw InputError(
        option, "",
        fmt::format("expected a column of runs{}, found {}{}", number ? " that holds numbers" : "",
                    ukemi::quoted(name), is_text ? "" : did_you_mean(name, known)));
}

RunGrouping StoredRuns::grouping(const std::vector<std::string>& by,
                                 const std::vector<std::string>& metrics,
                                 const std::string& baseline) {
    RunGrouping grouping;
    grouping.compared = kind_->compared;
    grouping.by_policy = by.empty() || std::ranges::find(by, grouping.compared) != by.end();
    for (const std::string& name : by) {
        if (name != grouping.compared) grouping.keys.push_back(column_meant(name, false, "--by"));
    }
    if (by.empty()) {
        grouping.keys = usual_keys;
        if (has_scenarios_of_one_name()) grouping.keys.emplace_back("scenario_id");
    }
    for (const std::string& name : metrics.empty() ? kind_->metrics : metrics) {
        grouping.metrics.push_back(column_meant(name, true, "--metric"));
    }
    if (baseline.empty()) return grouping;
    if (!grouping.by_policy) {
        throw InputError("--baseline", "",
                         fmt::format("expected \"{}\" among the keys of --by", kind_->compared));
    }
    grouping.baseline = decider_called(baseline, "--baseline");
    return grouping;
}

RunFilter StoredRuns::filter(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
        throw InputError("--where", "",
                         fmt::format("expected COLUMN=VALUE or COLUMN=VALUE,VALUE, found {}",
                                     ukemi::quoted(text)));
    }
    RunFilter filter{column_meant(text.substr(0, equals), false, "--where"), {}};
    const bool number = std::ranges::find(columns_, filter.column, &Column::name)->type != "TEXT";
    std::istringstream values(text.substr(equals + 1));
    for (std::string value; std::getline(values, value, ',');) {
        const auto amount = number ? records::varied_amount(value) : std::nullopt;
        if (number && !amount) {
            throw InputError("--where", "",
                             fmt::format("expected numbers for {}, found {}", filter.column,
                                         ukemi::quoted(value)));
        }
        if (filter.column == kind_->compared) value = decider_called(value, "--where");
        filter.values.emplace_back(amount ? records::RunValue(amount->value)
                                          : records::RunValue(value));
    }
    return filter;
}

GroupedRuns StoredRuns::grouped(const RunGrouping& grouping, const std::string& build,
                                std::span<const RunFilter> filters) {
    GroupedRuns groups(grouping);
    SqliteStatement row(database_, question_of(*kind_, grouping, filters));
    row.bind(std::string_view(build));
    for (const RunFilter& filter : filters) {
        for (const records::RunValue& value : filter.values) bind_value(row, value);
    }
    RunBlock block;
    while (row.step()) {
        std::vector<std::string> keys;
        for (std::size_t key = 0; key < grouping.keys.size(); ++key) {
            keys.push_back(shown(row, static_cast<int>(key)));
        }
        if (keys != block.keys && !block.runs.empty()) {
            groups.add(block);
            block.runs.clear();
        }
        block.keys = std::move(keys);
        block.runs.push_back(
            run_in(row, static_cast<int>(grouping.keys.size()), grouping.metrics.size()));
    }
    if (!block.runs.empty()) groups.add(block);
    if (groups.means().empty()) {
        throw InputError(filters.empty() ? "--build" : "--where", "",
                         fmt::format("no runs of {} are so", build));
    }
    groups.close();
    return groups;
}

std::vector<std::string> StoredRuns::doubts(const GroupedRuns& groups, bool filtered) {
    std::vector<std::string> lines;
    SqliteStatement rows(database_,
                         "SELECT doubt, min(trace), count(DISTINCT trace) FROM doubts "
                         "JOIN traces USING (trace_id) GROUP BY doubt ORDER BY min(trace), doubt");
    while (rows.step()) {
        const std::int64_t more = rows.integer(2) - 1;
        lines.push_back(fmt::format("{}{}: {}", one_line(rows.text(1)),
                                    more > 0 ? fmt::format(" and {} more", more) : "",
                                    rows.text(0)));
    }
    SqliteStatement twice(database_,
                          "SELECT trace, count(*) FROM traces GROUP BY trace HAVING count(*) > 1");
    while (twice.step()) {
        lines.push_back(fmt::format("{}: is there with {} contents, whose runs are taken together",
                                    one_line(twice.text(0)), twice.integer(1)));
    }
    if (const std::size_t alone = groups.without_baseline(); alone > 0) {
        const RunGrouping& grouping = groups.grouping();
        lines.push_back(
            fmt::format("--baseline {}: {} run{} no pair: {} no run of {} with the same {}",
                        grouping.baseline, alone, alone == 1 ? " is in" : "s are in",
                        filtered ? "--where leaves them" : "there is", grouping.baseline,
                        pairs_share(grouping)));
    }
    return lines;
}

}  // namespace ukemi::analysis
