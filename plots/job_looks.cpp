#include "plots/job_looks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/plain_text.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t looks_most = 20;
constexpr std::size_t name_most = 24;  // letters
constexpr std::array<std::string_view, 7> job_colours = {
    colour::sky,  colour::orange,     colour::green, colour::yellow,
    colour::blue, colour::vermillion, colour::purple};
constexpr std::array<std::string_view, 3> job_patterns = {"solid 0.75", "pattern 4", "pattern 2"};
static_assert(looks_most <= job_colours.size() * job_patterns.size());

struct Held {
    double gpu_h = 0;
    double most = 0;        // GPUs at once
    std::size_t place = 0;  // among all, in the order of their first inputs
};

using HeldByName = std::vector<std::pair<std::string, Held>>;

// Of those who held any, in the order of their first inputs.
HeldByName held_by_name(std::span<const MachineUseInput> inputs) {
    std::map<std::string, Held> held;
    for (const MachineUseInput& input : inputs) {
        for (const std::string& job : input.jobs) held.try_emplace(job, Held{0, 0, held.size()});
        for (const MachineUseInput::Span& span : input.spans) {
            Held& own = held[input.jobs[span.job]];
            own.gpu_h += span.gpus * (span.end_h - span.begin_h);
            own.most = std::max(own.most, span.gpus);
        }
    }
    HeldByName all(held.begin(), held.end());
    std::erase_if(all, [](const auto& one) { return !(one.second.gpu_h > 0); });
    std::ranges::sort(all, {}, [](const auto& one) { return one.second.place; });
    return all;
}

double gpu_hours_of(const HeldByName& jobs) {
    double sum = 0;
    for (const auto& [name, held] : jobs) sum += held.gpu_h;
    return sum;
}

// With most GPU time, as many as there are looks.
HeldByName largest_of(HeldByName jobs) {
    std::ranges::sort(jobs, [](const auto& a, const auto& b) {
        return std::pair(-a.second.gpu_h, a.second.place) <
               std::pair(-b.second.gpu_h, b.second.place);
    });
    jobs.resize(std::min(jobs.size(), looks_most));
    std::ranges::sort(jobs, {}, [](const auto& one) { return one.second.place; });
    return jobs;
}

// 0 for up to one GPU, 1 for two, 2 for three and four, 3 for five to eight.
std::size_t size_of(const Held& held) {
    std::size_t size = 0;
    for (double most = 1; most < held.most - 1e-9 && size + 1 < looks_most; most *= 2) ++size;
    return size;
}

std::string words_of_size(std::size_t size) {
    if (size == 0) return "up to 1 GPU";
    if (size == 1) return "2 GPUs";
    const std::size_t most = std::size_t{1} << size;
    return fmt::format("{} to {} GPUs", most / 2 + 1, most);
}

}  // namespace

JobLooks::JobLooks(std::span<const MachineUseInput> inputs) {
    const HeldByName all = held_by_name(inputs);
    const HeldByName largest = largest_of(all);
    by_size_ = gpu_hours_of(largest) < gpu_hours_of(all) / 3;
    if (!by_size_) {
        for (const auto& [name, held] : largest) {
            looks_[name] = names_.size();
            names_.push_back(name);
        }
        return;
    }
    for (const auto& [name, held] : all) {
        const std::size_t size = size_of(held);
        looks_[name] = size;
        for (; names_.size() <= size;) names_.push_back(words_of_size(names_.size()));
    }
}

std::size_t JobLooks::of(const std::string& job) const {
    const auto own = looks_.find(job);
    return own == looks_.end() ? count() : own->second;
}

std::vector<std::size_t> JobLooks::jobs_in(const MachineUseInput& input) const {
    std::vector<bool> holds(input.jobs.size(), false);
    for (const MachineUseInput::Span& span : input.spans) holds[span.job] = true;
    std::vector<std::size_t> jobs(count() + 1, 0);
    for (std::size_t job = 0; job < input.jobs.size(); ++job) {
        if (holds[job]) ++jobs[of(input.jobs[job])];
    }
    return jobs;
}

// In the order of the looks, each once.
std::vector<JobLooks::SeenLook> JobLooks::seen_in(const MachineUseInput& input) const {
    std::vector<std::size_t> first(count(), input.jobs.size());  // job of each look
    for (std::size_t job = input.jobs.size(); job-- > 0;) {
        const std::size_t look = of(input.jobs[job]);
        if (look < count()) first[look] = job;
    }
    const std::vector<std::size_t> jobs = jobs_in(input);
    const auto counted = [](std::size_t count, std::string_view which) {
        return fmt::format("{}{} job{}", count, which, count == 1 ? "" : "s");
    };
    std::vector<SeenLook> seen;
    for (std::size_t look = 0; look < count(); ++look) {
        if (jobs[look] == 0) continue;
        const std::string name = label_text(one_line(names_[look]), name_most);
        seen.push_back({look, by_size_ ? fmt::format("{}: {}", name, counted(jobs[look], ""))
                                       : fmt::format("{} {}", first[look], name)});
    }
    if (jobs[count()] > 0) seen.push_back({count(), counted(jobs[count()], " other")});
    return seen;
}

BarFill JobLooks::fill(std::size_t look) const {
    if (look >= count()) return {colour::light_grey, "solid 1.0"};
    return {job_colours[look % job_colours.size()], job_patterns[look / job_colours.size()]};
}

std::vector<LegendEntry> JobLooks::entries(const MachineUseInput& input) const {
    std::vector<LegendEntry> entries;
    for (const SeenLook& one : seen_in(input)) {
        entries.push_back({one.text, fmt::format("looks[{}]", entries.size() + 1),
                           "boxes " + look_of_fill(fill(one.look), true)});
    }
    return entries;
}

std::string JobLooks::settings(const MachineUseInput& input) const {
    const std::vector<SeenLook> seen = seen_in(input);
    std::string text = fmt::format("array looks[{}]\n", seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        text += fmt::format("looks[{}] = {}\n", i + 1, gnuplot_string(seen[i].text));
    }
    return text;
}

std::string look_of_fill(const BarFill& fill, bool border) {
    return fmt::format("lw 0.5 lc rgb '{}' fs {} {}", fill.colour, fill.style,
                       border ? fmt::format("border lc rgb '{}'", colour::black) : "noborder");
}

}  // namespace ukemi::plots
