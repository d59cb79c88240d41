// lifetimes.cpp — how long instances lived, a row each, and whether they were taken or given back.
//
// Columns lifetime_s and preempted (or was_lost): 1 = taken by the provider, 0 = stopped by the
// user, so that nobody knows how long it would have lived (censored). Optional: zone, machine_type
// (or instance_type), insert_utc (or start). The release of goog-preemption-data (2019) has them,
// and so does what we write.
#include <fmt/format.h>

#include <string>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

std::size_t either_column(CsvScanner& csv, std::string_view first, std::string_view second) {
    const std::size_t column = csv.column_if_present(first);
    return column != CsvScanner::no_column ? column : csv.column_if_present(second);
}

Trace read_lifetimes(std::string_view text, const std::filesystem::path& file,
                     const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "lifetimes_csv");
    CsvScanner csv(text, name);
    csv.read_header();
    const std::size_t lasted = csv.column("lifetime_s");
    const std::size_t lost = either_column(csv, "preempted", "was_lost");
    const std::size_t zone = csv.column_if_present("zone");
    const std::size_t type = either_column(csv, "machine_type", "instance_type");
    const std::size_t start = either_column(csv, "insert_utc", "start");
    if (lost == CsvScanner::no_column) csv.fail_here("expected a column \"preempted\"");
    const auto text_of = [&](std::size_t column) {
        return column == CsvScanner::no_column ? std::string() : std::string(csv.field(column));
    };
    Trace trace;
    std::int64_t taken = 0;
    while (csv.next_row()) {
        Lifetime& life = trace.lifetimes.emplace_back();
        life.zone = text_of(zone);
        life.instance_type = text_of(type);
        life.lasted = csv.seconds(lasted);
        life.was_lost = csv.whole(lost, 0, 1, "0 or 1 (1 = taken by the provider)") == 1;
        if (life.was_lost) ++taken;
        if (start == CsvScanner::no_column || csv.field(start).empty()) continue;
        life.start = format_timestamp(csv.timestamp(start));
        if (trace.report.start.empty() || life.start < trace.report.start) {
            trace.report.start = life.start;
        }
    }
    if (trace.lifetimes.empty()) csv.fail_here("expected at least one lifetime, found none");
    csv.add_to(trace.report);
    trace.report.notes.push_back(
        fmt::format("{} instances: {} taken by the provider, {} not "
                    "(censored)",
                    trace.lifetimes.size(), taken, std::ssize(trace.lifetimes) - taken));
    return trace;
}

}  // namespace

TraceForm lifetimes_form() {
    return {"lifetimes_csv", "lifetimes of instances: lifetime_s,preempted (1 = taken), zone, …",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {"lifetime_s"});
            },
            read_lifetimes};
}

std::string to_plain_csv(std::span<const Lifetime> lifetimes) {
    CsvWriter csv({"lifetime_s", "was_lost", "zone", "instance_type", "start"});
    for (const Lifetime& life : lifetimes) {
        csv.add(to_seconds(life.lasted)).add(life.was_lost ? 1 : 0).add(one_line(life.zone));
        csv.add(one_line(life.instance_type)).add(life.start).end_row();
    }
    return csv.text();
}

std::string to_plain_csv(std::span<const NodeEvent> nodes) {
    std::string text;
    for (const NodeEvent& event : nodes) {
        text += fmt::format("{},{},{}\n", event.at.raw() / 1'000'000,
                            event.joined ? "add" : "remove", csv_field(one_line(event.node)));
    }
    return text;
}

}  // namespace ukemi::traces
