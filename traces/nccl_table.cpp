// nccl_table.cpp — the table that nccl-tests prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "traces/nccl_columns.hpp"
#include "traces/nccl_lines.hpp"

namespace ukemi::traces::nccl {

namespace {

constexpr std::int64_t rank_max = (1 << 20) - 1;

enum class Column {
    size,
    count,
    type,
    operation,
    root,
    other,
    time,
    algbw,
    busbw,
    wrong,
    error,
    p99,
    cv,
    stamp
};

struct Heading {
    std::vector<Column> columns;
    std::size_t first_time = 0;   // columns before it are of the row
    std::size_t second_time = 0;  // of the in-place half; 0: there is none
    bool stamped = false;
    double time_us = 1;  // of its unit
    bool cpu_time = false;
};

Column column_named(std::string_view name) {
    struct Named {
        std::string_view name;
        Column column;
    };
    static constexpr std::array names{
        Named{"size", Column::size},       Named{"count", Column::count},
        Named{"type", Column::type},       Named{"time", Column::time},
        Named{"cputime", Column::time},    Named{"algbw", Column::algbw},
        Named{"busbw", Column::busbw},     Named{"#wrong", Column::wrong},
        Named{"wrong", Column::wrong},     Named{"error", Column::error},
        Named{"i_p99", Column::p99},       Named{"i_cv%", Column::cv},
        Named{"timestamp", Column::stamp}, Named{"redop", Column::operation},
        Named{"root", Column::root},
    };
    const auto* found = std::ranges::find(names, name, &Named::name);
    return found == names.end() ? Column::other : found->column;
}

std::optional<Heading> heading_of(const Tokens& tokens) {
    Heading heading;
    for (const std::string_view name : tokens) {
        const Column column = column_named(name);
        if (column == Column::time) {
            std::size_t& place = heading.first_time == 0 ? heading.first_time : heading.second_time;
            place = heading.columns.size();
            heading.cpu_time = heading.cpu_time || name == "cputime";
        }
        heading.stamped = heading.stamped || column == Column::stamp;
        heading.columns.push_back(column);
    }
    const bool whole =
        tokens.size() >= 4 && tokens[0] == "size" && tokens[1] == "count" && heading.first_time > 0;
    if (!whole) return std::nullopt;
    return heading;
}

constexpr const char* separate_runs =
    "separate runs are mixed in this output (without MPI each process is a run of its own); give "
    "each a file of its own";

struct RankLine {
    CollectiveRank place;
    std::string process;  // "Pid 3591 on testgpu1 device 0"
};

class TableReader {
public:
    TableReader(std::string_view text, const std::filesystem::path& file)
        : text_(text), file_(file) {}

    std::vector<CollectiveTable> read() {
        const char line_end = text_.find('\n') == std::string_view::npos ? '\r' : '\n';
        std::size_t at = 0;
        while (at < text_.size()) {
            const std::size_t end = std::min(text_.find(line_end, at), text_.size());
            ++line_;
            ends_within_ = end == text_.size();
            read_line(text_.substr(at, end - at));
            at = end + 1;
        }
        close();
        return std::move(tables_);
    }

private:
    [[noreturn]] void fail(const std::string& problem) const {
        throw InputError(file_.string(), line_, 1, problem);
    }

    void read_line(std::string_view line) {
        line = prefixes_.without(line);
        const Tokens tokens = split(line);
        if (tokens.empty()) return;
        if (tokens.front().starts_with("#")) {
            read_comment(line.substr(line.find('#') + 1));
        } else if (all_digits(tokens.front()) && heading_) {
            read_row(tokens);
        } else if (is_known_comment(line)) {
            read_comment(line);  // Markdown has taken its '#'
        } else {
            ++other_lines_;
        }
    }

    void read_comment(std::string_view comment) {
        const Tokens words = split(comment);
        if (words.empty()) return;
        const auto after = [&](std::string_view start) {
            return comment.find(start) == std::string_view::npos
                       ? Tokens()
                       : split(comment.substr(comment.find(start) + start.size()));
        };
        if (const Tokens name = after("Collective test starting:"); !name.empty()) {
            begin();
            table_.collective = collective_in(name.front());
        } else if (const Tokens version = after("nccl-tests version"); !version.empty()) {
            begin();
            table_.version = one_line(comment.substr(comment.find("version") + 8));
        } else if (words.front() == "nThread" || words.front() == "nthread") {
            read_settings(words);
        } else if (words.front() == "Rank") {
            read_rank(words, comment);
        } else if (auto heading = heading_of(words)) {
            if (!table_.rows.empty()) close();
            heading_ = std::move(heading);
        } else if (heading_ && words.front() == "(B)") {
            read_units(words);
        } else if (const Tokens bounds = after("Out of bounds values"); bounds.size() >= 2) {
            table_.out_of_bounds = whole(bounds[1]);
        } else if (const Tokens average = after("Avg bus bandwidth"); average.size() >= 2) {
            table_.average_busbw = amount(average[1]);
        }
    }

    // What came before belongs to the next table, unless the present one has rows already.
    void begin() {
        if (!table_.rows.empty()) close();
    }

    void read_settings(const Tokens& words) {
        begin();
        ++beginnings_;
        // A run that ended before its first row, and the next one.
        ranks_.clear();
        devices_.clear();
        std::int64_t threads = 0;
        std::int64_t gpus = 0;
        for (std::size_t i = 0; i + 1 < words.size(); ++i) {
            const auto value = [&](std::size_t at) {
                return at < words.size() ? whole(words[at]).value_or(-1) : -1;
            };
            if (words[i] == "nThread" || words[i] == "nthread") threads = value(i + 1);
            if (words[i] == "nGpus" || words[i] == "ngpus") gpus = value(i + 1);
            if (words[i] == "warmup" && words[i + 1] == "iters:") {
                table_.warm_up = static_cast<int>(value(i + 2));
            } else if (words[i] != "warmup" && words[i] != "agg" && words[i + 1] == "iters:") {
                table_.iterations = static_cast<int>(value(i + 2));
            }
        }
        const bool says_both = threads > 0 && gpus > 0 && threads <= rank_max && gpus <= rank_max;
        table_.ranks_of_process =
            says_both ? static_cast<int>(std::min(threads * gpus, rank_max + 1)) : 0;
    }

    // "Rank  0 Group  0 Pid  1 on host device  0 [0x07] NVIDIA A100-SXM4-40GB"
    void read_rank(const Tokens& words, std::string_view comment) {
        if (words.size() < 2 || !whole(words[1]) || *whole(words[1]) > rank_max) return;
        begin();
        RankLine line;
        line.place.rank = static_cast<int>(*whole(words[1]));
        const auto on = std::ranges::find(words, "on");
        if (on != words.end() && on + 1 != words.end()) line.place.host = one_line(on[1]);
        const auto device = std::ranges::find(words, "device");
        if (device != words.end() && device + 1 != words.end()) {
            const auto number = whole(device[1]);
            if (number && *number <= rank_max) line.place.device = static_cast<int>(*number);
        }
        const Tokens what = split(comment.substr(0, comment.find('[')));
        const auto process = std::ranges::find(what, "Pid");
        line.process = one_line(fmt::format("{}", fmt::join(process, what.end(), " ")));
        const auto [at, is_new] = ranks_.try_emplace(line.place.rank, line);
        if (!is_new && at->second.process != line.process) {
            fail(fmt::format("rank {} is {} and {}: {}", line.place.rank, at->second.process,
                             line.process, separate_runs));
        }
        const std::size_t bracket = comment.find(']');
        if (bracket == std::string_view::npos) return;
        const Tokens name = split(comment.substr(bracket + 1));
        if (!name.empty()) devices_.insert(one_line(fmt::format("{}", fmt::join(name, " "))));
    }

    void read_units(const Tokens& words) {
        for (const std::string_view unit : words) {
            if (unit == "(us)") heading_->time_us = 1;
            if (unit == "(ns)") heading_->time_us = 1e-3;
            if (unit == "(ms)") heading_->time_us = 1e3;
            if (unit == "(us)" || unit == "(ns)" || unit == "(ms)") return;
        }
    }

    double number(std::string_view text, const char* what) const {
        const auto value = amount(text);
        if (!value) fail(fmt::format("expected {}, found {}", what, ukemi::quoted(text)));
        return *value;
    }

    // One half of a row, from the column of its time to the next half.
    CollectiveTime half(const Tokens& tokens, std::size_t begin, std::size_t end,
                        std::size_t shift) {
        CollectiveTime half;
        for (std::size_t column = begin; column < end; ++column) {
            const std::string_view text = tokens[column - shift];
            switch (heading_->columns[column]) {
                case Column::time: half.time_us = number(text, "a time") * heading_->time_us; break;
                case Column::algbw: half.algbw_gbytes_s = bandwidth(text); break;
                case Column::busbw: half.busbw_gbytes_s = bandwidth(text); break;
                case Column::wrong:
                    if (text == "N/A") break;
                    half.wrong = static_cast<std::int64_t>(
                        std::min(number(text, "a number of elements or N/A"), 1e15));
                    break;
                case Column::p99: half.p99_us = number(text, "a time") * heading_->time_us; break;
                case Column::cv: half.cv_percent = number(text, "a share in percent"); break;
                default: break;
            }
        }
        return half;
    }

    double bandwidth(std::string_view text) {
        if (text == "inf" || text == "nan" || text == "-nan") {
            ++not_finite_;
            return 0;
        }
        return number(text, "a bandwidth");
    }

    void read_row(const Tokens& tokens) {
        const Heading& heading = *heading_;
        const std::size_t named = heading.columns.size() - (heading.stamped ? 1 : 0);
        const std::size_t stamp = heading.stamped ? 2 : 0;  // a day and a time
        const std::size_t first_half = heading.second_time - heading.first_time;
        const bool whole_row = tokens.size() == named || tokens.size() == named + stamp;
        // A replayed trace has no out-of-place half, in none of its rows; a log that was cut after
        // that half looks alike.
        const bool may_lack_half =
            table_.rows.empty() ? !ends_within_ : !table_.rows.back().out_of_place;
        const bool in_place_only =
            !whole_row && may_lack_half && heading.second_time > 0 &&
            (tokens.size() + first_half == named || tokens.size() + first_half == named + stamp);
        if (!whole_row && !in_place_only) {
            fail(fmt::format("expected a row of {} columns as in the heading, found {}", named,
                             tokens.size()));
        }
        if (++rows_ > nccl_rows_max) fail(fmt::format("more than {} rows", nccl_rows_max));
        CollectiveRow row;
        row.bytes = exact(tokens[0], "a size in bytes");
        row.count = exact(tokens[1], "a number of elements");
        if (heading.columns[2] == Column::type) row.type = one_line(tokens[2]);
        read_operation(tokens, row);
        const std::size_t end = heading.second_time > 0 ? heading.second_time : named;
        if (whole_row) row.out_of_place = half(tokens, heading.first_time, end, 0);
        if (heading.second_time > 0) {
            row.in_place = half(tokens, heading.second_time, named, in_place_only ? first_half : 0);
        }
        if (ends_within_) {
            table_.notes.emplace_back("nothing ends the last row: the log may be cut within it");
        }
        table_.cpu_time = heading.cpu_time;
        table_.rows.push_back(std::move(row));
    }

    // The reduction and its root stand before the times.
    void read_operation(const Tokens& tokens, const CollectiveRow& row) {
        for (std::size_t column = 0; column < heading_->first_time; ++column) {
            const std::string_view text = tokens[column];
            const Column what = heading_->columns[column];
            const bool is_other = (what == Column::operation && text == "none") ||
                                  (what == Column::root && text != "-1");
            if (is_other) table_.rootless_sum = false;
        }
        if (beginnings_ < 2 || row.bytes == 0) return;
        // A size that comes again in what began twice is another run's.
        const auto times = tokens.begin() + static_cast<std::ptrdiff_t>(heading_->first_time);
        if (sizes_.insert(fmt::format("{}", fmt::join(tokens.begin(), times, " "))).second) return;
        fail(fmt::format("{} B for the second time, after {} beginnings: {}", row.bytes,
                         beginnings_, separate_runs));
    }

    std::int64_t exact(std::string_view text, const char* what) const {
        const auto value = whole(text);
        if (!value) fail(fmt::format("expected {}, found {}", what, ukemi::quoted(text)));
        return *value;
    }

    void close() {
        if (!table_.rows.empty()) {
            table_.form = table_form;
            for (auto& [rank, line] : ranks_) table_.places.push_back(std::move(line.place));
            table_.devices.assign(devices_.begin(), devices_.end());
            if (beginnings_ > 1) {
                table_.notes.push_back(
                    fmt::format("{} beginnings before its rows: the last counts", beginnings_));
            }
            if (other_lines_ > 0) {
                table_.notes.push_back(fmt::format("{} lines of other output", other_lines_));
            }
            if (not_finite_ > 0) {
                table_.notes.push_back(fmt::format("{} bandwidths are no numbers", not_finite_));
            }
            tables_.push_back(std::move(table_));
        }
        table_ = {};
        heading_.reset();
        ranks_.clear();
        devices_.clear();
        sizes_.clear();
        beginnings_ = 0;
        other_lines_ = not_finite_ = 0;
    }

    std::string_view text_;
    const std::filesystem::path& file_;
    std::size_t line_ = 0;
    std::size_t rows_ = 0;
    bool ends_within_ = false;  // the text has no end of the present line
    std::int64_t other_lines_ = 0;
    std::int64_t not_finite_ = 0;
    std::optional<Heading> heading_;
    LinePrefixes prefixes_;
    std::map<int, RankLine> ranks_;
    std::set<std::string> sizes_;  // of rows, where the table began several times
    int beginnings_ = 0;
    std::set<std::string> devices_;
    CollectiveTable table_;
    std::vector<CollectiveTable> tables_;
};

}  // namespace

std::vector<CollectiveTable> read_tables(std::string_view text, const std::filesystem::path& file) {
    return TableReader(text, file).read();
}

}  // namespace ukemi::traces::nccl
