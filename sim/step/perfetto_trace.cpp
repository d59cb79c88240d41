// perfetto_trace.cpp — rows of workers, collectives and links.
#include "sim/step/perfetto_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

using Json = nlohmann::json;

double microseconds(Duration d) { return static_cast<double>(d.raw()) / 1e3; }
double microseconds(Instant at) { return microseconds(at.since_start()); }

class TraceWriter {
public:
    void name_process(std::int64_t process, const std::string& name) {
        events_.push_back(
            {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
    }
    void name_row(std::int64_t process, std::int64_t row, const std::string& name) {
        events_.push_back({{"ph", "M"},
                           {"name", "thread_name"},
                           {"pid", process},
                           {"tid", row},
                           {"args", {{"name", name}}}});
    }
    void span(std::int64_t process, std::int64_t row, const std::string& name, Instant begin,
              Instant end) {
        if (end <= begin) return;
        events_.push_back({{"ph", "X"},
                           {"name", name},
                           {"pid", process},
                           {"tid", row},
                           {"ts", microseconds(begin)},
                           {"dur", microseconds(end - begin)}});
    }
    // May overlap others of its process.
    void overlapping(std::int64_t process, const SentMessage& message) {
        const Json base{{"cat", "collective"}, {"id", ++last_id_}, {"pid", process}, {"tid", 0}};
        Json begin = base;
        begin.update(
            Json{{"ph", "b"},
                 {"name", message.name},
                 {"ts", microseconds(message.begin)},
                 {"args", {{"bytes", message.bytes.raw()}, {"buckets", message.buckets}}}});
        Json end = base;
        end.update(Json{{"ph", "e"}, {"name", message.name}, {"ts", microseconds(message.end)}});
        events_.push_back(std::move(begin));
        events_.push_back(std::move(end));
    }
    std::string text() const {
        return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump() + "\n";
    }

private:
    Json events_ = Json::array();
    std::int64_t last_id_ = 0;
};

// Workers keep their rows when others leave.
std::int64_t row_of(const StepRecord& step, std::size_t rank) {
    const auto same = static_cast<std::int32_t>(rank);
    return 1 + (step.first_ranks.empty() ? same : step.first_ranks[rank]);
}

void write_worker(TraceWriter& trace, std::int64_t process, std::size_t rank, const StepJob& job,
                  const StepRecord& step) {
    const std::int64_t row = row_of(step, rank);
    const Duration own = step.computing[rank];
    const Instant begin = step.compute_begin;
    const double once = static_cast<double>(own.raw()) / static_cast<double>(job.accumulation);
    const Instant last = begin + own - Duration::of(round_nearest(once));
    const Instant backward =
        begin + own - Duration::of(round_nearest(once * (1 - job.forward_share)));
    const Instant whole = step.begin + step.parts.torn;
    trace.span(process, row, "torn", step.begin, whole);
    trace.span(process, row, "wait for input", whole, begin);
    trace.span(process, row, "accumulate", begin, last);
    trace.span(process, row, "forward", last, backward);
    // Encoding holds the backward pass up.
    Duration encoding;
    bool decodes = false;
    for (const GradientBucket& bucket : job.buckets) {
        if (step.computing.size() == 1) break;  // alone nothing is sent
        encoding += bucket.encode;
        decodes = decodes || bucket.decode > Duration{};
    }
    const Instant computed = begin + own + encoding;
    trace.span(process, row, encoding > Duration{} ? "backward, encoding" : "backward", backward,
               computed);
    const Instant updating = step.end - step.parts.validation - job.longest_update();
    trace.span(process, row,
               decodes ? "wait for all gradients, decoding" : "wait for all gradients", computed,
               updating);
    trace.span(process, row, "update", updating, updating + job.update_of(rank));
}

void write_spans(TraceWriter& trace, std::int64_t process, std::size_t rows,
                 const StepRecord& step) {
    for (const WorkSpan& span : step.spans) {
        for (std::int32_t rank = span.rank; rank < span.rank + span.ranks; ++rank) {
            if (static_cast<std::size_t>(rank) >= rows) break;
            trace.span(process, row_of(step, static_cast<std::size_t>(rank)), span.name, span.begin,
                       span.end);
        }
    }
}

// When how many collectives crossed the links that this set of jobs crosses.
void write_link(TraceWriter& trace, std::int64_t process, std::int64_t row,
                const std::set<std::size_t>& crossing, std::span<const JobSteps> steps) {
    std::map<Instant, std::int64_t> changes;
    for (const std::size_t job : crossing) {
        for (const StepRecord& step : steps[job].steps) {
            for (const SentMessage& message : step.sent) {
                ++changes[message.begin];
                --changes[message.end];
            }
        }
    }
    std::int64_t count = 0;
    Instant since;
    for (const auto& [at, change] : changes) {
        if (change == 0) continue;
        if (count > 0) {
            trace.span(process, row,
                       count == 1 ? "1 collective" : fmt::format("{} collectives", count), since,
                       at);
        }
        count += change;
        since = at;
    }
}

}  // namespace

std::string perfetto_trace(const Topology& topology, std::span<const StepJob> jobs,
                           std::span<const JobSteps> steps, const TraceLimits& limits) {
    INVARIANT(jobs.size() == steps.size());
    TraceWriter trace;
    std::map<LinkId, std::set<std::size_t>> crossing;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const StepJob& job = jobs[j];
        const auto process = static_cast<std::int64_t>(j) + 1;
        trace.name_process(process, "job " + job.name);
        const std::size_t rows = std::min(job.workers.size(), limits.workers);
        for (std::size_t rank = 0; rank < rows; ++rank) {
            trace.name_row(process, static_cast<std::int64_t>(rank) + 1,
                           topology.full_name(job.workers[rank]));
        }
        for (const StepRecord& step : steps[j].steps) {
            if (!step.detailed) continue;
            for (std::size_t rank = 0; rank < std::min(rows, step.computing.size()); ++rank) {
                write_worker(trace, process, rank, job, step);
            }
            write_spans(trace, process, rows, step);
            for (const SentMessage& message : step.sent) trace.overlapping(process, message);
        }
        for (const LinkId link : steps[j].links) crossing[link].insert(j);
    }
    const auto links = static_cast<std::int64_t>(jobs.size()) + 1;
    trace.name_process(links, "links");
    std::int64_t row = 0;
    for (const auto& [link, crossed_by] : crossing) {
        if (row == static_cast<std::int64_t>(limits.links)) break;
        // Connections between hosts are no cables.
        if (index_of(link) >= topology.links().size()) continue;
        const Link& cable = topology.link(link);
        trace.name_row(
            links, ++row,
            fmt::format("{} to {}", topology.full_name(cable.from), topology.full_name(cable.to)));
        write_link(trace, links, row, crossed_by, steps);
    }
    return trace.text();
}

}  // namespace ukemi::sim
