#include "scenarios/reader/curve_file.hpp"

#include <charconv>
#include <cmath>
#include <map>

#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t samples_most = 1'000'000'000'000;

double value_in(const traces::CsvScanner& rows, std::size_t column) {
    const std::string_view field = rows.field(column);
    double value = 0;
    const char* end = field.data() + field.size();
    const auto [stopped, error] = std::from_chars(field.data(), end, value);
    constexpr double most = 1e9;
    if (error != std::errc() || stopped != end || !(std::abs(value) <= most)) {
        rows.fail(column, "a number from -1e+09 to 1e+09");
    }
    return value;
}

}  // namespace

std::vector<sim::RecordedCurve> read_curve_file(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    traces::CsvScanner rows(text, file.string());
    rows.read_header();
    const std::size_t batch = rows.column("batch");
    const std::size_t samples = rows.column("samples");
    const std::size_t value = rows.column("value");
    std::map<std::int64_t, std::vector<sim::MetricPoint>> by_batch;
    while (rows.next_row()) {
        auto& points = by_batch[rows.whole(batch, 1, samples_most, "a batch of at least 1")];
        const sim::MetricPoint point{
            rows.whole(samples, 0, samples_most, "a number of samples from 0 to 1e+12"),
            value_in(rows, value)};
        if (!points.empty() && point.samples <= points.back().samples) {
            rows.fail(samples, "more samples than in the row before of this batch");
        }
        points.push_back(point);
    }
    if (by_batch.empty()) throw InputError(file.string(), "", "there is no row in it");
    std::vector<sim::RecordedCurve> curves;
    for (auto& [size, points] : by_batch) curves.push_back({size, std::move(points)});
    return curves;
}

}  // namespace ukemi::scenarios
