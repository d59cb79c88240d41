// compared_clusters.cpp — folders of `ukemi schedule` and `ukemi search` for `ukemi diff`: a row of
// the summary is a run, and what was decided is who got which machines, or which trials went on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/compared_folder.hpp"
#include "analysis/schedule_results.hpp"
#include "analysis/search_results.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

struct ClusterFolder {
    std::string_view command;
    const char* compared;              // who decides
    const char* decided;               // the table of what was decided
    const char* at;                    // its column of the moment
    std::vector<const char*> change;   // columns that two runs are compared by
    std::vector<NamedColumn> columns;  // of the summary
    std::string file(const char* ending) const { return fmt::format("{}.{}", command, ending); }
};
const std::array cluster_folders{
    ClusterFolder{"schedule",
                  "scheduler",
                  "spans.csv",
                  "begin_s",
                  {"job", "gpus", "machines"},
                  names_of(schedule_columns())},
    ClusterFolder{"search",
                  "searcher",
                  "pieces.csv",
                  "came_s",
                  {"trial", "copies", "from_units", "until_units"},
                  names_of(search_columns())},
};

// A table whose rows begin with what was varied, the seed, and who decided.
class HeadedTable {
public:
    HeadedTable(const fs::path& file, const char* compared)
        : text_(read_file(file)), path_(file.string()), rows_(text_, path_) {
        rows_.read_header();
        compared_ = rows_.column(compared);
        seed_ = rows_.column("seed");
    }
    traces::CsvScanner& rows() { return rows_; }
    // Of the row that was read last: the same text in every table of the folder.
    std::string head() const {
        std::string head;
        for (std::size_t i = 0; i <= compared_; ++i) head += fmt::format("{}\n", rows_.field(i));
        return head;
    }
    std::string varied_words() const {
        std::string words;
        for (std::size_t i = 0; i < seed_; ++i) {
            words += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows_.header(i), rows_.field(i));
        }
        return words;
    }

private:
    std::string text_;
    std::string path_;
    traces::CsvScanner rows_;
    std::size_t compared_ = 0;
    std::size_t seed_ = 0;
};

// By the heads of their runs, in the order of the moments.
std::map<std::string, std::vector<ComparedChange>> changes_in(const fs::path& folder,
                                                              const ClusterFolder& kind) {
    struct Timed {
        double at_s = 0;
        ComparedChange change;
    };
    std::map<std::string, std::vector<Timed>> timed;
    HeadedTable table(folder / kind.decided, kind.compared);
    traces::CsvScanner& rows = table.rows();
    const std::size_t at = rows.column(kind.at);
    std::vector<std::size_t> columns;
    for (const char* name : kind.change) columns.push_back(rows.column(name));
    while (rows.next_row()) {
        std::string what;
        for (const std::size_t column : columns) {
            if (rows.field(column).empty()) continue;
            what += fmt::format("{}{} {}", what.empty() ? "" : ", ", rows.header(column),
                                rows.field(column));
        }
        const double at_s = to_seconds(rows.seconds(at));
        timed[table.head()].push_back(
            {at_s, {what, one_line(fmt::format("at {:.6g} s: {}", at_s, what))}});
    }
    std::map<std::string, std::vector<ComparedChange>> changes;
    for (auto& [head, own] : timed) {
        std::ranges::stable_sort(own, {}, &Timed::at_s);
        for (Timed& one : own) changes[head].push_back(std::move(one.change));
    }
    return changes;
}

StoredResults read_folder(const fs::path& folder, const ClusterFolder& kind) {
    StoredResults results;
    results.command = kind.command;
    const fs::path about_file = folder / "run.json";
    const fs::path rows_file = folder / kind.file("json");
    results.scenario = std::make_shared<const nlohmann::json>(
        parse_json(read_file(about_file), about_file.string()).at("scenario"));
    // The order of its keys is that of the columns.
    parse_json(read_file(rows_file), rows_file.string());
    const ordered_json document = ordered_json::parse(read_file(rows_file));
    auto changes = changes_in(folder, kind);
    HeadedTable summary(folder / kind.file("csv"), kind.compared);
    std::vector<std::string> identifiers;
    for (const NamedColumn& column : kind.columns) {
        if (column.kind == records::RunColumnKind::identifier) identifiers.push_back(column.name);
    }
    for (const ordered_json& row : document.at("runs")) {
        if (!summary.rows().next_row()) {
            throw InputError(folder.string(), "",
                             fmt::format("damaged: {} has fewer runs than {}", kind.file("csv"),
                                         kind.file("json")));
        }
        StoredRun run{row.at(kind.compared).get<std::string>(),
                      summary.varied_words(),
                      row.at("seed").get<std::uint64_t>(),
                      {},
                      std::make_shared<const ordered_json>(row),
                      std::nullopt,
                      {},
                      changes[summary.head()],
                      identifiers};
        results.runs.push_back(std::move(run));
    }
    return results;
}

}  // namespace

std::optional<StoredResults> cluster_results(const fs::path& folder) {
    for (const ClusterFolder& kind : cluster_folders) {
        if (!fs::exists(folder / kind.file("json"))) continue;
        try {
            return read_folder(folder, kind);
        } catch (const nlohmann::json::exception& error) {
            throw InputError(folder.string(), "",
                             fmt::format("damaged: {}", one_line(error.what())));
        }
    }
    return std::nullopt;
}

}  // namespace ukemi::analysis
