// layout_search.cpp — which layouts fit, what each takes at least, and who is simulated.
#include "analysis/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/complaint_list.hpp"
#include "base/first_failure.hpp"
#include "scenarios/reader/read_step_layout.hpp"
#include "sim/step/layout_bound.hpp"

namespace ukemi::analysis {
namespace {

// Simulated side by side before the next are chosen: the same on any number of threads.
constexpr std::size_t wave = 4;

class Search {
public:
    Search(const StepDocument& document, std::span<const ConfigOverride> overrides,
           const SearchProgress& progress, sim::LayoutDimensions wide)
        : document_(document), overrides_(overrides.begin(), overrides.end()), progress_(progress) {
        const std::string file = document.file.string();
        ConfigReader root = ConfigReader::from_text(document.text, file, overrides);
        if (!root.has("job")) root.fail("jobs", "expected one \"job\" for --search layouts");
        ConfigReader job = root.object("job");
        if (job.has("workload")) job.fail("workload", "--search layouts is for models");
        // All but the layout, in place of which others are tried; and what it says that they keep.
        std::vector<ConfigOverride> without = overrides_;
        if (job.has("layout")) without.push_back({"/job/layout", "{}", "--search"});
        const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(
            document.text, document.file, without, scenarios::MemoryCheck::skip);
        const scenarios::StepJobEntry& entry = scenario.jobs.front();
        if (!entry.job.servers.empty()) {
            throw InputError(file, "/job/variable_update",
                             "--search layouts is for jobs without parameter servers");
        }
        search_.workers = static_cast<std::int64_t>(entry.job.workers.size());
        sim::LayoutRequest like = scenarios::read_step_layout(job, search_.workers);
        like.batch = entry.request.batch;
        like.micro_batches = entry.request.micro_batches;
        like.value_bytes = entry.request.value_bytes;
        like.buckets = entry.request.buckets;
        bounded_ = scenario.events.links.empty() && scenario.events.departures.empty();
        search_.samples = entry.job.samples_per_step() / search_.workers * like.degrees.data;
        search_.gpus = entry.gpus;
        search_.gpu_memory = entry.gpu_memory;
        for (const sim::LayoutRequest& request :
             sim::all_layouts(entry.profile, like, search_.workers, wide)) {
            search_.layouts.push_back({request, need_of(entry, request), {}, 0, {}, {}});
            TriedLayout& layout = search_.layouts.back();
            layout.over = std::max(layout.need.total() - search_.gpu_memory, Bytes{});
        }
        expect_some_with(like);
    }

    LayoutSearch run(std::size_t kept) {
        reckon();
        std::vector<TriedLayout*> fitting;
        for (TriedLayout& layout : search_.layouts) {
            if (!is_too_large(layout) && layout.refusal.empty()) fitting.push_back(&layout);
        }
        if (fitting.empty()) refuse();
        std::ranges::stable_sort(fitting, {}, &TriedLayout::least_s);
        for (std::size_t begin = 0; begin < fitting.size(); begin += wave) {
            if (slowest_kept(kept) < fitting[begin]->least_s) break;
            simulate(std::span(fitting).subspan(begin, std::min(wave, fitting.size() - begin)));
            const auto faster = [&](const TriedLayout* layout) {
                return was_simulated(*layout) || layout->least_s <= slowest_kept(kept);
            };
            const auto undecided = std::ranges::partition_point(fitting, faster);
            const auto may_win = static_cast<std::size_t>(undecided - fitting.begin());
            tell(std::min(begin + wave, fitting.size()) + fitting.size() - may_win, fitting.size());
        }
        std::ranges::stable_sort(search_.layouts, {}, [](const TriedLayout& layout) {
            if (was_simulated(layout)) return std::tuple(0, *layout.step_s);
            if (was_passed_over(layout)) return std::tuple(1, layout.least_s);
            if (is_too_large(layout)) {
                return std::tuple(2, static_cast<double>(layout.over.raw()));
            }
            return std::tuple(3, 0.0);
        });
        return std::move(search_);
    }

private:
    // What layouts have only where their degrees allow it has to be of one at least.
    void expect_some_with(const sim::LayoutRequest& like) const {
        struct Kept {
            std::string_view key;
            bool (*has)(const sim::LayoutRequest&);
        };
        static constexpr std::array<Kept, 4> kept = {{
            {"expert", [](const auto& one) { return one.expert > 1; }},
            {"sequence_parallel", [](const auto& one) { return one.sequence_parallel; }},
            {"overlap_tensor", [](const auto& one) { return one.overlap_tensor; }},
            {"schedule",
             [](const auto& one) { return one.schedule == sim::PipelineKind::dual_pipe; }},
        }};
        const std::vector<TriedLayout>& tried = search_.layouts;
        for (const Kept& one : kept) {
            const bool of_none = tried.empty() && one.key != "expert";
            if (of_none || !one.has(like) ||
                std::ranges::any_of(tried, one.has, &TriedLayout::request)) {
                continue;
            }
            throw InputError(document_.file.string(), fmt::format("/job/layout/{}", one.key),
                             fmt::format("none of the {} layouts of {} workers can have it",
                                         tried.size(), search_.workers));
        }
    }

    static sim::MemoryNeed need_of(const scenarios::StepJobEntry& entry,
                                   const sim::LayoutRequest& request) {
        if (request.is_plain()) {
            return sim::memory_need(entry.profile, request.batch, entry.memory_rule);
        }
        return sim::layout_memory(entry.profile, request, entry.memory_rule).need;
    }

    scenarios::StepScenario scenario_of(const TriedLayout& layout) const {
        std::vector<ConfigOverride> all = overrides_;
        for (ConfigOverride& one : layout_overrides(layout)) {
            all.push_back(std::move(one));
        }
        return scenarios::step_scenario_from_text(document_.text, document_.file, all);
    }

    // What those that fit take at least.
    void reckon() {
        guarded_parallel_for(search_.layouts.size(), machine_threads(), [&](std::size_t i) {
            TriedLayout& layout = search_.layouts[i];
            tell(++bounded_count_, search_.layouts.size());
            if (is_too_large(layout)) return;
            try {
                const scenarios::StepScenario scenario = scenario_of(layout);
                if (!bounded_) return;
                layout.least_s =
                    to_seconds(sim::least_step(scenario.topology, scenario.jobs.front().job));
            } catch (const InputError& error) {
                layout.refusal = lines_of(error).front();
                const std::string place = document_.file.string() + ": ";
                if (layout.refusal.starts_with(place)) layout.refusal.erase(0, place.size());
            }
        });
    }

    void simulate(std::span<TriedLayout* const> layouts) {
        std::vector<scenarios::StepScenario> all;
        for (const TriedLayout* layout : layouts) all.push_back(scenario_of(*layout));
        const std::vector<SimulatedVariant> variants = simulate_steps(std::move(all), 0);
        for (std::size_t i = 0; i < layouts.size(); ++i) {
            layouts[i]->step_s = variants[i].jobs.front().step_s.mean;
            steps_s_.insert(std::ranges::upper_bound(steps_s_, *layouts[i]->step_s),
                            *layouts[i]->step_s);
        }
    }

    void tell(std::size_t done, std::size_t total) {
        if (!progress_) return;
        const std::scoped_lock lock(telling_);
        progress_(std::min(done, total), total);
    }

    double slowest_kept(std::size_t kept) const {
        return steps_s_.size() < kept ? std::numeric_limits<double>::infinity()
                                      : steps_s_[kept - 1];
    }

    [[noreturn]] void refuse() const {
        const auto nearest = std::ranges::min_element(search_.layouts, {}, [](const auto& layout) {
            return std::pair(layout.over, layout.refusal.empty());
        });
        const std::string file = document_.file.string();
        if (nearest == search_.layouts.end()) {
            throw InputError(file, "/job/batch",
                             fmt::format("no layout of {} workers divides {} samples",
                                         search_.workers, search_.samples));
        }
        if (!nearest->refusal.empty()) throw InputError(file, "", nearest->refusal);
        throw InputError(
            file, "/job",
            fmt::format("none of {} layouts fits on {} with {} bytes: the smallest, {}, batch {}, "
                        "needs {} bytes more",
                        search_.layouts.size(), search_.gpus, search_.gpu_memory.raw(),
                        words_of(nearest->request), nearest->request.batch, nearest->over.raw()));
    }

    const StepDocument& document_;
    std::vector<ConfigOverride> overrides_;
    const SearchProgress& progress_;
    std::mutex telling_;
    std::atomic<std::size_t> bounded_count_ = 0;
    bool bounded_ = true;
    LayoutSearch search_;
    std::vector<double> steps_s_;  // of those simulated, ascending
};

}  // namespace

bool was_simulated(const TriedLayout& layout) { return layout.step_s.has_value(); }
bool is_too_large(const TriedLayout& layout) { return layout.over > Bytes{}; }
bool was_passed_over(const TriedLayout& layout) {
    return !was_simulated(layout) && !is_too_large(layout) && layout.refusal.empty();
}

std::size_t LayoutSearch::count(bool (*of_kind)(const TriedLayout&)) const {
    return static_cast<std::size_t>(std::ranges::count_if(layouts, of_kind));
}

LayoutSearch search_layouts(const StepDocument& document, std::span<const ConfigOverride> overrides,
                            std::size_t kept, const SearchProgress& progress,
                            sim::LayoutDimensions wide) {
    return Search(document, overrides, progress, wide).run(kept);
}

std::vector<ConfigOverride> layout_overrides(const TriedLayout& layout) {
    const char* option = "--search";
    return {{"/job/layout", scenarios::layout_text(layout.request), option},
            {"/job/batch", fmt::format("{}", layout.request.batch), option},
            {"/job/accumulation", fmt::format("{}", layout.request.micro_batches), option}};
}

}  // namespace ukemi::analysis
