// reader.hpp — one function that understands every trace form we know, and the table of them.
//
// The form is found by the first bytes of the file (a header, a JSON shape), never by its name
// alone. Input is distrusted: a wrong row is an InputError with file:line:column; a repair
// (sorting, dropping an exact duplicate) is made only where the form's own quirks demand it, and
// counted in the report. To add a form: its reader's .cpp, one line in the table of reader.cpp,
// one test.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "traces/series.hpp"

namespace ukemi::traces {

// What a one means in forms that use 0 and 1. `as_documented` takes the form's own convention.
enum class Polarity { as_documented, one_is_available, one_is_unavailable };

struct ReadOptions {
    Polarity polarity = Polarity::as_documented;
    std::string_view form = {};           // by name; empty: found from the content
    std::string_view instance_type = {};  // keep only this type, where the file has several
    std::string_view zone = {};           // keep only this zone, where the file has several
    Duration gap = {};                    // between samples, for the forms that do not say it
    std::filesystem::path times = {};     // a file of stamped rows whose times the samples have
};

// A trace that can be replayed: a file without any series (lifetimes, a price list) is refused.
Trace read_trace(const std::filesystem::path& file, const ReadOptions& options = {});

// Any market record, also one without series.
Trace read_record(const std::filesystem::path& file, const ReadOptions& options = {});

// Several files of one record: pages of a price history, one file a probe, months of samples. All
// are of one form. Zones and types meet by name, times by the calendar; what overlaps must agree.
// The trace has the name of the first file.
Trace read_records(std::span<const std::filesystem::path> files, const ReadOptions& options = {});

// The same as read_record for a text that is in memory already; `file` names it in errors.
Trace read_trace_text(std::string_view text, const std::filesystem::path& file,
                      const ReadOptions& options = {});

// What a trace is called: "us-east-2a_v100_1" of "…/us-east-2a_v100_1.csv.gz". A dot may be part of
// the name; what would break a line is not.
std::string trace_name(const std::filesystem::path& file);

// One file of several, undone from gzip and without a byte order mark.
struct TracePage {
    std::string_view text;
    std::filesystem::path file;
};

struct TraceForm {
    std::string_view name;     // "plain_availability", "skypilot_json", "bamboo_events", …
    std::string_view summary;  // one line, for `ukemi list traces`
    // True if the beginning of the file looks like this form.
    bool (*recognises)(std::string_view head, const std::filesystem::path& file);
    Trace (*read)(std::string_view text, const std::filesystem::path& file,
                  const ReadOptions& options);
    // Several files as one; where it is null, each is read alone and their series are joined.
    Trace (*read_pages)(std::span<const TracePage> pages, const ReadOptions& options) = nullptr;
};
// Those of plug-ins first (plugin_forms.hpp), then ours; a form that is found first reads the file.
std::span<const TraceForm> all_trace_forms();
// Before there are threads, and before anybody keeps what all_trace_forms gave.
void add_trace_forms(std::span<const TraceForm> forms);

// Our own plain form: a comment line that holds `duration_s=`, a header, one row a step.
// `t_s,instances` or `t_s,usd_per_instance_hour`.
std::string to_plain_csv(const AvailabilitySeries& series, std::string_view comment);
std::string to_plain_csv(const PriceSeries& series, std::string_view comment);
// And what is no series, one row each, under a header that the readers know.
std::string to_plain_csv(std::span<const Lifetime> lifetimes);
std::string to_plain_csv(std::span<const ListedPrice> prices);
std::string to_plain_csv(std::span<const InterruptionBand> bands);
std::string to_plain_csv(std::span<const NodeEvent> nodes);  // milliseconds,add|remove,node

}  // namespace ukemi::traces
