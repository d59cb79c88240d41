// reader.cpp — the forms, finding the right one, and what is the same for all of them.
#include "traces/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/known_answers.hpp"
#include "traces/join.hpp"
#include "traces/plugin_forms.hpp"

namespace ukemi::traces {

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
    if (const std::string_view known = known_answer(head); !known.empty()) {
        throw InputError(file.string(), "",
                         fmt::format("expected a record of a market over time, found {}", known));
    }
    // Not what it holds instead: a scenario can name any file, and its error may go anywhere.
    throw InputError(
        file.string(), 1, 1,
        fmt::format("expected the beginning of a known trace form (for a table of your "
                    "own: t_s,instances in the first line; see ukemi list traces), "
                    "found {}",
                    text.find_first_not_of(" \t\r\n") == std::string_view::npos
                        ? "an empty file"
                        : "another kind of file"));
}

// Keeps the entries whose `member` is `wanted`, and those that do not say it. Returns how many are
// left; what was said joins `known`.
template <class Entry>
std::size_t keep_entries(std::vector<Entry>& entries, std::string Entry::*member,
                         std::string_view wanted, std::vector<std::string>& known) {
    std::erase_if(entries, [&](const Entry& entry) {
        const std::string& said = entry.*member;
        if (!said.empty()) known.push_back(said);
        return !said.empty() && said != wanted;
    });
    return entries.size();
}

// Keeps what is of one zone or type, by the member of each kind of entry; a file with one series is
// not in doubt.
void keep_only(Trace& trace, std::string TraceSeries::*series, std::string Lifetime::*lifetime,
               std::string ListedPrice::*price, std::string InterruptionBand::*band,
               std::string_view wanted, std::string_view what, const std::filesystem::path& file) {
    if (wanted.empty()) return;
    std::vector<std::string> known;
    const bool had_series = !trace.series.empty();
    std::size_t left = trace.series.size();
    if (left > 1) left = keep_entries(trace.series, series, wanted, known);
    const std::size_t rest = keep_entries(trace.lifetimes, lifetime, wanted, known) +
                             keep_entries(trace.listed_prices, price, wanted, known) +
                             keep_entries(trace.bands, band, wanted, known);
    if (left + (had_series ? 0 : rest) > 0) return;
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
    for (const std::string_view ending :
         {".csv", ".json", ".jsonl", ".txt", ".tsv", ".out", ".log"}) {
        if (drop(ending)) break;
    }
    return one_line(name);
}

namespace {

std::vector<TraceForm>& known_forms() {
#define FORM(name) name##_form(),
    static std::vector<TraceForm> forms{
#include "traces/forms/form_table.def"
    };
#undef FORM
    return forms;
}

std::size_t brought_forms = 0;  // of plug-ins, which stand first

}  // namespace

std::span<const TraceForm> all_trace_forms() { return known_forms(); }

void add_trace_forms(std::span<const TraceForm> forms) {
    known_forms().insert(known_forms().begin(), forms.begin(), forms.end());
    brought_forms += forms.size();
}

namespace {

// What is the same for every form, once it is read.
Trace settled(Trace trace, const TraceForm& form, const std::filesystem::path& file,
              const ReadOptions& options) {
    if (&form < known_forms().data() + brought_forms) check_trace(trace, form.name, file);
    trace.name = trace_name(file);
    trace.report.form = form.name;
    std::sort(trace.series.begin(), trace.series.end(),
              [](const TraceSeries& a, const TraceSeries& b) {
                  return std::tie(a.zone, a.instance_type) < std::tie(b.zone, b.instance_type);
              });
    for (const TraceSeries& series : trace.series) {  // one length of text: the least is the first
        if (series.start.empty()) continue;
        if (trace.report.start.empty() || series.start < trace.report.start) {
            trace.report.start = series.start;
        }
    }
    keep_only(trace, &TraceSeries::zone, &Lifetime::zone, &ListedPrice::region,
              &InterruptionBand::region, options.zone, "zone", file);
    keep_only(trace, &TraceSeries::instance_type, &Lifetime::instance_type,
              &ListedPrice::instance_type, &InterruptionBand::instance_type, options.instance_type,
              "instance type", file);
    INVARIANT(!trace.series.empty() || !trace.lifetimes.empty() || !trace.listed_prices.empty() ||
              !trace.bands.empty());
    return trace;
}

// Whether there was a mark, which is taken off.
bool take_byte_order_mark(std::string_view& text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    const bool marked = text.starts_with(byte_order_mark);
    if (marked) text.remove_prefix(byte_order_mark.size());
    return marked;
}

void report_marks(Trace& trace, std::size_t marks) {
    if (marks == 1) trace.report.repairs.emplace_back("byte order mark skipped");
    if (marks > 1) {
        trace.report.repairs.push_back(fmt::format("{} byte order marks skipped", marks));
    }
}

std::string_view what_it_holds(const Trace& trace) {
    if (!trace.lifetimes.empty()) return "lifetimes";
    if (!trace.listed_prices.empty()) {
        return "a price list of one moment; its prices go into \"spot_price\" and "
               "\"on_demand_price\" of a scenario";
    }
    return "bands of interruption";
}

}  // namespace

Trace read_trace(const std::filesystem::path& file, const ReadOptions& options) {
    Trace trace = read_record(file, options);
    if (trace.series.empty()) {
        throw InputError(file.string(), "",
                         fmt::format("expected a series of availability or prices, found {}",
                                     what_it_holds(trace)));
    }
    return trace;
}

Trace read_record(const std::filesystem::path& file, const ReadOptions& options) {
    return read_trace_text(read_file(file), file, options);
}

Trace read_trace_text(std::string_view text, const std::filesystem::path& file,
                      const ReadOptions& options) {
    const bool marked = take_byte_order_mark(text);
    const TraceForm& form = form_of(text, file, options);
    Trace trace = settled(form.read(text, file, options), form, file, options);
    report_marks(trace, marked ? 1 : 0);
    return trace;
}

Trace read_records(std::span<const std::filesystem::path> files, const ReadOptions& options) {
    INVARIANT(!files.empty());
    if (files.size() == 1) return read_record(files[0], options);
    std::vector<std::string> texts;
    std::vector<TracePage> pages;
    std::size_t bytes = 0;
    std::size_t marks = 0;
    texts.reserve(files.size());  // the pages look into them
    for (const std::filesystem::path& file : files) {
        texts.push_back(read_file(file));
        bytes += texts.back().size();
        if (bytes > 4 * file_bytes_max) {
            throw InputError(file.string(), "", "expected less than 1 GiB of pages");
        }
        std::string_view text = texts.back();
        if (take_byte_order_mark(text)) ++marks;
        pages.push_back({text, file});
    }
    const TraceForm& form = form_of(pages[0].text, files[0], options);
    for (const TracePage& page : pages) {
        const TraceForm& other = form_of(page.text, page.file, options);
        if (other.name == form.name) continue;
        throw InputError(page.file.string(), "",
                         fmt::format("expected a page of the form {}, as {}; found {}", form.name,
                                     files[0].string(), other.name));
    }
    Trace trace =
        form.read_pages != nullptr ? form.read_pages(pages, options) : joined(pages, form, options);
    trace = settled(std::move(trace), form, files[0], options);
    report_marks(trace, marks);
    return trace;
}

std::string_view first_row(std::string_view head) {
    const char line_end = head.find('\n') == std::string_view::npos ? '\r' : '\n';
    while (!head.empty()) {
        std::string_view row = head.substr(0, head.find(line_end));
        head.remove_prefix(std::min(row.size() + 1, head.size()));
        if (row.ends_with('\r')) row.remove_suffix(1);
        const bool is_blank = row.find_first_not_of(" \t") == std::string_view::npos;
        if (!is_blank && !row.starts_with('#')) return row;
    }
    return {};
}

std::vector<std::string> first_fields(std::string_view head, char separator) {
    if (begins_json(head)) return {""};  // no table, and its first row may be all of it
    std::vector<std::string> fields;
    std::string_view row = first_row(head);
    while (true) {
        const std::size_t end = std::min(row.find(separator), row.size());
        std::string field(row.substr(0, end));
        field.erase(0, field.find_first_not_of(" \t\""));
        field.erase(field.find_last_not_of(" \t\"") + 1);
        fields.push_back(std::move(field));
        if (end == row.size()) return fields;
        row.remove_prefix(end + 1);
    }
}

bool has_columns(std::string_view head, std::initializer_list<std::string_view> names) {
    std::vector<std::string> fields = first_fields(head);
    for (std::string& field : fields) {
        for (char& c : field) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return std::ranges::all_of(names, [&](std::string_view name) {
        return std::ranges::find(fields, name) != fields.end();
    });
}

bool begins_json(std::string_view head) {
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

void fail_in(const TracePage& page, std::size_t offset, std::string_view problem) {
    const TextPlace place = place_of(page.text, offset);
    throw InputError(page.file.string(), place.line, place.column, problem);
}

void read_document(const TracePage& page, const JsonDocument& document,
                   const std::function<void(JsonScanner&)>& read) {
    std::string name = page.file.string();
    if (document.text.data() != page.text.data()) {
        name += fmt::format(", in the value that begins in line {}", document.line);
    }
    JsonScanner json(document.text, name);
    read(json);
    json.finish();
}

std::size_t for_each_document(
    std::span<const TracePage> pages,
    const std::function<void(JsonScanner&, std::uint32_t page, std::size_t before)>& read) {
    std::size_t documents = 0;
    for (std::uint32_t page = 0; page < pages.size(); ++page) {
        const std::string_view text = pages[page].text;
        for (const JsonDocument& document : json_documents(text)) {
            const auto before = static_cast<std::size_t>(document.text.data() - text.data());
            read_document(pages[page], document,
                          [&](JsonScanner& json) { read(json, page, before); });
            ++documents;
        }
    }
    return documents;
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

}  // namespace ukemi::traces
