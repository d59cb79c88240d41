#include "runtime/step_times.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::runtime {

namespace {

double median_between(std::span<const double> ends_s) {
    std::vector<double> between;
    for (std::size_t i = 1; i < ends_s.size(); ++i) between.push_back(ends_s[i] - ends_s[i - 1]);
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::ranges::nth_element(between, middle);
    return *middle;
}

// From `first` on; `first` itself if all are late.
std::size_t first_prompt(std::span<const double> ends_s, std::size_t first, double usual_s) {
    for (std::size_t i = first; i + 1 < ends_s.size(); ++i) {
        if (ends_s[i + 1] - ends_s[i] >= usual_s / 2) return i;
    }
    return first;
}

}  // namespace

double mean_step_s(std::span<const double> ends_s) {
    INVARIANT(ends_s.size() >= 2);
    const std::size_t first = first_prompt(ends_s, 0, median_between(ends_s));
    return (ends_s.back() - ends_s[first]) / static_cast<double>(ends_s.size() - 1 - first);
}

std::vector<double> stretch_means_s(std::span<const double> ends_s, std::size_t length,
                                    std::size_t most) {
    INVARIANT(ends_s.size() >= 2 && length >= 1);
    std::vector<double> means;
    const double usual_s = median_between(ends_s);
    for (std::size_t end = 0; means.size() < most;) {
        const std::size_t begin = first_prompt(ends_s, end, usual_s);
        end = begin + length;
        if (end >= ends_s.size()) break;
        means.push_back((ends_s[end] - ends_s[begin]) / static_cast<double>(length));
    }
    if (means.empty() && most > 0) means.push_back(mean_step_s(ends_s));
    return means;
}

}  // namespace ukemi::runtime
