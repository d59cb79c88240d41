// survival_log.cpp — logs that hold one instance of each kind and note when it is gone.
//
// "[time] Created instance NAME with 8 GPU(s) of type v100 in zone Z", "… running in zone Z",
// "… not running in zone Z", "Successfully deleted instance NAME", "… creation failed"
// (training_on_a_dime, 2020). Each (zone, kind) that was ever created is a series of how many are
// held, from the log's first line on; every instance is a lifetime too. The recorder waits ten
// minutes between rounds, so the series ends ten minutes after the last line.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

constexpr Duration pause_of_recorder = minutes(10);

struct Kind {
    std::string zone;
    std::string instance_type;  // "8xv100"
    friend auto operator<=>(const Kind&, const Kind&) = default;
};

struct Held {
    Kind kind;
    Instant since;
    std::string start;
    bool is_up = true;
};

struct SurvivalGroup {
    std::map<Instant, std::int32_t> counts;  // what holds from then on
    std::int32_t held = 0;
    std::vector<NodeEvent> nodes;
};

// Takes `word` off the front.
bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}

// Takes everything before `word`, and the word; nothing if it is not there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view word) {
    const std::size_t end = text.find(word);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view before = text.substr(0, end);
    text.remove_prefix(end + word.size());
    return before;
}

class LogReader {
public:
    LogReader(std::string_view text, std::string_view file) : csv_(text, file, '\0') {}

    Trace read() {
        while (csv_.next_row(1)) read_line(csv_.field(0));
        if (groups_.empty()) csv_.fail_here("expected at least one created instance, found none");
        return finish();
    }

private:
    void read_line(std::string_view line) {
        const std::string_view whole = line;
        const auto stamp = take(line, "[") ? take_until(line, "] ") : std::nullopt;
        const auto at = stamp ? parse_timestamp(*stamp) : std::nullopt;
        if (!at) csv_.fail(0, "a line that begins with a time, such as [2020-03-15T10:07:33.000Z]");
        if (!first_) first_ = last_ = *at;
        if (*at < last_) csv_.fail(0, "a time not before that of the line before");
        if (*at - *first_ > trace_length_max.raw()) csv_.fail(0, "a time within 100 years");
        last_ = *at;
        const Instant now = Instant::at(nanoseconds(*at - *first_));
        if (take(line, "Created instance ")) return create(line, now, *at);
        if (take(line, "Successfully deleted instance ")) return lose(line, now);
        if (line.ends_with(" creation failed")) {
            ++failures_;
            return;
        }
        if (!take(line, "Instance ")) csv_.fail(0, "a line of a survival log");
        if (const auto gone = take_until(line, " not running in zone ")) return lose(*gone, now);
        if (const auto alive = take_until(line, " running in zone ")) return seen(*alive, now);
        line = whole;
        csv_.fail(0, "a line of a survival log");
    }

    void create(std::string_view line, Instant now, std::int64_t stamp) {
        const auto name = take_until(line, " with ");
        const auto gpus = take_until(line, " GPU(s) of type ");
        const auto model = take_until(line, " in zone ");
        const auto number = gpus ? parse_whole(*gpus, DecimalGrammar::json) : std::nullopt;
        if (!name || !number || *number < 1 || *number > 1000 || !model || line.empty()) {
            csv_.fail(0, "\"… with N GPU(s) of type T in zone Z\"");
        }
        std::string_view plain = *model;
        take(plain, "nvidia-tesla-");
        const Kind kind{std::string(line), fmt::format("{}x{}", *number, plain)};
        const auto known = held_.find(*name);
        if (known != held_.end() && known->second.is_up) lose(*name, now);
        if (groups_.size() >= 10'000) csv_.fail(0, "at most 10000 kinds of instances");
        groups_[kind];
        held_.insert_or_assign(std::string(*name), Held{kind, now, format_timestamp(stamp), true});
        change(kind, *name, now, true);
    }

    void lose(std::string_view name, Instant now) {
        const auto found = held_.find(name);
        if (found == held_.end() || !found->second.is_up) return;  // said before, or never created
        Held& held = found->second;
        held.is_up = false;
        lifetimes_.push_back(
            {held.kind.zone, held.kind.instance_type, held.start, now - held.since, true});
        change(held.kind, name, now, false);
    }

    void seen(std::string_view name, Instant now) {
        const auto found = held_.find(name);
        if (found == held_.end()) {
            ++unknown_;
            return;
        }
        if (std::exchange(found->second.is_up, true)) return;
        ++revived_;  // it was only out of reach
        found->second.since = now;
        change(found->second.kind, name, now, true);
    }

    void change(const Kind& kind, std::string_view name, Instant now, bool joined) {
        SurvivalGroup& group = groups_[kind];
        group.held += joined ? 1 : -1;
        group.counts[now] = group.held;
        group.nodes.push_back({now, joined, std::string(name)});
    }

    Trace finish() {
        Trace trace;
        csv_.add_to(trace.report);
        const Instant end = Instant::at(nanoseconds(last_ - *first_) + pause_of_recorder);
        for (auto& [kind, group] : groups_) {
            SeriesBuilder<std::int32_t> builder;
            if (group.counts.begin()->first > Instant{}) builder.add(Instant{}, 0);
            for (const auto& [at, count] : group.counts) builder.add(at, count);
            TraceSeries& series = trace.series.emplace_back();
            series.zone = kind.zone;
            series.instance_type = kind.instance_type;
            series.start = format_timestamp(*first_);
            series.availability = builder.finish(end);
            series.nodes = std::move(group.nodes);
        }
        for (const auto& [name, held] : held_) {
            if (!held.is_up) continue;
            lifetimes_.push_back(
                {held.kind.zone, held.kind.instance_type, held.start, end - held.since, false});
        }
        trace.lifetimes = std::move(lifetimes_);
        auto& notes = trace.report.notes;
        notes.push_back(fmt::format("{} instances held, {} creations failed",
                                    trace.lifetimes.size(), failures_));
        if (revived_ > 0) notes.push_back(fmt::format("{} instances came back", revived_));
        if (unknown_ > 0) {
            trace.report.repairs.push_back(
                fmt::format("{} lines about instances never created here left out", unknown_));
        }
        return trace;
    }

    CsvScanner csv_;
    std::optional<std::int64_t> first_;
    std::int64_t last_ = 0;
    std::map<Kind, SurvivalGroup> groups_;
    std::map<std::string, Held, std::less<>> held_;
    std::vector<Lifetime> lifetimes_;
    std::int64_t failures_ = 0;
    std::int64_t unknown_ = 0;
    std::int64_t revived_ = 0;
};

Trace read_survival_log(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "survival_log");
    return LogReader(text, name).read();
}

bool recognises_survival_log(std::string_view head, const std::filesystem::path&) {
    std::string_view row = first_row(head);
    if (!take(row, "[") || !take_until(row, "] ")) return false;
    return row.starts_with("Created instance ") || row.starts_with("Instance ") ||
           row.starts_with("Successfully deleted ");
}

}  // namespace

TraceForm survival_log_form() {
    return {"survival_log", "logs of held instances: [time] Created instance …, … not running …",
            recognises_survival_log, read_survival_log};
}

}  // namespace ukemi::traces
