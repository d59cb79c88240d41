// reader.cpp — the table of forms, finding the right one, and what is the same for all of them.
#include "traces/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "traces/forms.hpp"

namespace ukemi {

namespace {

constexpr std::size_t head_bytes = 4096;  // enough for a long comment line and a header

const TraceForm& form_of(std::string_view text, const std::filesystem::path& file,
                         const ReadOptions& options) {
    const std::string_view head = text.substr(0, head_bytes);
    std::vector<std::string_view> names;
    for (const TraceForm& form : all_trace_forms()) {
        if (options.form.empty() ? form.recognises(head, file) : form.name == options.form) {
            return form;
        }
        names.push_back(form.name);
    }
    if (!options.form.empty()) {
        throw InputError(file.string(), "",
                         fmt::format("no trace form {}{}; there is {}", quoted(options.form),
                                     did_you_mean(options.form, names), fmt::join(names, ", ")));
    }
    throw InputError(file.string(), 1, 1,
                     fmt::format("expected the beginning of a known trace form ({}), found {}",
                                 fmt::join(names, ", "),
                                 text.empty() ? "an empty file" : quoted(first_row(head))));
}

// Keeps the series whose `member` is `wanted`; those of a file with only one are not in doubt.
void keep_only(Trace& trace, std::string TraceSeries::*member, std::string_view wanted,
               std::string_view what, const std::filesystem::path& file) {
    if (wanted.empty() || trace.series.size() < 2) return;
    std::vector<std::string> known;
    for (const TraceSeries& series : trace.series) known.push_back(series.*member);
    if (std::ranges::all_of(known, &std::string::empty)) return;  // the file does not say
    std::erase_if(trace.series,
                  [&](const TraceSeries& series) { return series.*member != wanted; });
    if (!trace.series.empty()) return;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw InputError(file.string(), "",
                     fmt::format("no {} {} in this file; there is {}", what, quoted(wanted),
                                 fmt::join(known, ", ")));
}

}  // namespace

std::string trace_name(const std::filesystem::path& file) {
    std::string name = file.filename().string();
    const auto drop = [&name](std::string_view ending) {
        if (name.size() <= ending.size() || !name.ends_with(ending)) return false;
        name.resize(name.size() - ending.size());
        return true;
    };
    drop(".gz");
    for (const std::string_view ending : {".csv", ".json", ".txt"}) {
        if (drop(ending)) break;
    }
    return one_line(name);
}

std::span<const TraceForm> all_trace_forms() {
    // Headers first, then rows without one, then JSON; skypilot_json takes any object left.
    static const std::array forms{
        plain_availability_form(),     plain_price_form(),     skynomad_csv_form(),
        probe_counts_form(),           stamped_price_form(),   aws_price_history_csv_form(),
        skypilot_strategy_form(),      bamboo_events_form(),   bamboo_counts_form(),
        aws_price_history_json_form(), skynomad_prices_form(), skypilot_json_form(),
    };
    return forms;
}

Trace read_trace(const std::filesystem::path& file, const ReadOptions& options) {
    return read_trace_text(read_file(file), file, options);
}

Trace read_trace_text(std::string_view text, const std::filesystem::path& file,
                      const ReadOptions& options) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    const bool marked = text.starts_with(byte_order_mark);
    if (marked) text.remove_prefix(byte_order_mark.size());

    const TraceForm& form = form_of(text, file, options);
    Trace trace = form.read(text, file, options);
    trace.name = trace_name(file);
    trace.report.form = form.name;
    if (marked) trace.report.repairs.emplace_back("byte order mark skipped");
    std::sort(trace.series.begin(), trace.series.end(),
              [](const TraceSeries& a, const TraceSeries& b) {
                  return std::tie(a.zone, a.instance_type) < std::tie(b.zone, b.instance_type);
              });
    for (const TraceSeries& series : trace.series) {  // one length of text: the least is the first
        if (trace.report.start.empty() || series.start < trace.report.start) {
            trace.report.start = series.start;
        }
    }
    keep_only(trace, &TraceSeries::zone, options.zone, "zone", file);
    keep_only(trace, &TraceSeries::instance_type, options.instance_type, "instance type", file);
    INVARIANT(!trace.series.empty());
    return trace;
}

std::string_view first_row(std::string_view head) {
    if (head.starts_with('#')) head.remove_prefix(std::min(head.find('\n'), head.size() - 1) + 1);
    std::string_view row = head.substr(0, head.find('\n'));
    if (row.ends_with('\r')) row.remove_suffix(1);
    return row;
}

FirstKey first_key(std::string_view head) {
    const auto skip_blanks = [&head] {
        head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    };
    const auto take = [&](char c) {
        skip_blanks();
        if (!head.starts_with(c)) return false;
        head.remove_prefix(1);
        return true;
    };
    if (!take('{') || !take('"')) return {};
    const std::size_t end = head.find('"');
    if (end == std::string_view::npos) return {};
    const std::string_view key = head.substr(0, end);
    head.remove_prefix(end + 1);
    if (!take(':')) return {};
    skip_blanks();
    return {key, head.empty() ? '\0' : head.front()};
}

bool one_means_unavailable(Polarity asked, Polarity documented) {
    return (asked == Polarity::as_documented ? documented : asked) == Polarity::one_is_unavailable;
}

void refuse_inverted_counts(const ReadOptions& options, std::string_view file,
                            std::string_view form) {
    if (options.polarity != Polarity::one_is_unavailable) return;
    throw InputError(
        file, "", fmt::format("the form {} counts instances: one cannot mean unavailable", form));
}

}  // namespace ukemi
