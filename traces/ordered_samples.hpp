// ordered_samples.hpp — rows of a file in whatever order, as samples in order of time.
//
// A row that says again what another said is dropped and counted; two different values for one
// moment are refused, because nobody can know which is right. Rows remember where they stand (page
// and offset), so that a complaint names the line also after sorting.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

template <class Value>
struct PlacedSample {
    std::int64_t stamp_ns = 0;  // since 1970
    Value value{};
    std::size_t offset = 0;  // where its row begins
    std::uint32_t page = 0;  // of several files
};

// What had to be done; shared by all the series of a file.
struct OrderRepairs {
    std::size_t out_of_order = 0;
    std::size_t repeated = 0;

    void add_to(std::vector<std::string>& repairs) const {
        if (out_of_order > 0) {
            repairs.push_back(fmt::format("{} rows out of order: sorted", out_of_order));
        }
        if (repeated > 0) repairs.push_back(fmt::format("{} exact duplicates dropped", repeated));
    }
};

inline std::string sample_text(Price price) {
    return fmt::format("{:g}", to_dollars_per_hour(price));
}
inline std::string sample_text(std::int32_t count) { return fmt::format("{}", count); }

// Rows of a page that go against the direction of most.
template <class Value>
std::size_t rows_out_of_order(const std::vector<PlacedSample<Value>>& rows) {
    std::size_t later = 0;
    std::size_t earlier = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].page != rows[i - 1].page) continue;
        if (rows[i].stamp_ns > rows[i - 1].stamp_ns) ++later;
        if (rows[i].stamp_ns < rows[i - 1].stamp_ns) ++earlier;
    }
    return std::min(later, earlier);
}

// Complains through fail_at(page, offset, problem), which must not return. `what` is "price".
template <class Value, class FailAt>
std::vector<StampedSample<Value>> in_order(std::vector<PlacedSample<Value>> rows,
                                           std::string_view what, OrderRepairs& repairs,
                                           FailAt fail_at) {
    repairs.out_of_order += rows_out_of_order(rows);
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::tie(a.stamp_ns, a.page, a.offset) < std::tie(b.stamp_ns, b.page, b.offset);
    });
    std::vector<StampedSample<Value>> samples;
    samples.reserve(rows.size());
    for (const PlacedSample<Value>& row : rows) {
        if (!samples.empty() && samples.back().stamp_ns == row.stamp_ns) {
            if (samples.back().value != row.value) {
                fail_at(row.page, row.offset,
                        fmt::format("expected one {} at {}, found {} and {}", what,
                                    format_timestamp(row.stamp_ns),
                                    sample_text(samples.back().value), sample_text(row.value)));
            }
            ++repairs.repeated;
            continue;
        }
        if (!samples.empty() && row.stamp_ns - samples.front().stamp_ns > trace_length_max.raw()) {
            fail_at(row.page, row.offset, "expected times within 100 years of each other");
        }
        samples.push_back({row.stamp_ns, row.value});
    }
    return samples;
}

}  // namespace ukemi::traces
