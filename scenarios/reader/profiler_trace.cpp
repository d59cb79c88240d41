// profiler_trace.cpp — events of a trace by kind, then the steps that they make.
#include "scenarios/reader/profiler_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/statistics.hpp"

namespace ukemi::scenarios {
namespace {

using nlohmann::json;

constexpr std::string_view step_prefix = "ProfilerStep#";
constexpr std::string_view backward_prefix = "autograd::engine::evaluate_function: ";
constexpr std::string_view gradient_name = "torch::autograd::AccumulateGrad";
constexpr std::int64_t elements_most = std::int64_t{1} << 50;

struct Stretch {
    double begin_us = 0;
    double end_us = 0;
};

struct BackwardFunction {
    double begin_us = 0;
    double end_us = 0;
    std::uint32_t name = 0;  // of those that are there, by number
};

struct ReadyGradient {
    double at_us = 0;
    std::int64_t elements = 0;
};

// Of a trace, or of a step in it; both as they come.
struct BackwardEvents {
    std::span<const BackwardFunction> backward;
    std::span<const ReadyGradient> gradients;
};

// What a device did, and when the host launched it; the time by which all launched so far is done.
struct LaunchedWork {
    double launched_us = 0;
    Stretch done;
};

class ProfilerEvents {
public:
    ProfilerEvents(std::string_view text, std::string_view file) : file_(file) {
        const json document = parse_json(text, file);
        const json* events = &document;
        if (document.is_object()) {
            const auto found = document.find("traceEvents");
            if (found == document.end()) fail("", "expected \"traceEvents\"");
            events = &*found;
        }
        if (!events->is_array()) fail("/traceEvents", "expected a list of events");
        for (std::size_t i = 0; i < events->size(); ++i) take((*events)[i], i);
        finish();
    }

    [[noreturn]] void fail(std::string_view path, std::string_view problem) const {
        throw InputError(file_, path, problem);
    }

    // Of the host's instant: of the device, when all that was launched until then is done.
    double done_at(double host_us) const {
        const auto after = std::ranges::upper_bound(work_, host_us, {}, &LaunchedWork::launched_us);
        return after == work_.begin() ? host_us : (after - 1)->done.end_us;
    }
    // Passes over the same parameters begin with the same function, and each has the same
    // gradients, whatever their order. `with_forward`: and between two of them an operation begins
    // that is in no function of a backward pass, as layers of one size have none.
    std::size_t passes_of(const BackwardEvents& of, bool with_forward) const {
        for (std::size_t passes = of.gradients.size(); passes > 1; --passes) {
            if (is_made_of(passes, of, with_forward)) return passes;
        }
        return 1;
    }
    bool has_device() const { return !work_.empty(); }
    std::optional<double> first_work(const Stretch& step) const {
        const auto at =
            std::ranges::lower_bound(work_, step.begin_us, {}, &LaunchedWork::launched_us);
        if (at == work_.end() || at->launched_us >= step.end_us) return std::nullopt;
        return at->done.begin_us;
    }

    std::vector<Stretch> steps;
    std::vector<BackwardFunction> backward;
    std::vector<ReadyGradient> gradients;

private:
    static std::string_view text_of(const json& event, const char* key) {
        const auto found = event.find(key);
        if (found == event.end() || !found->is_string()) return {};
        return found->get_ref<const std::string&>();
    }

    double time_of(const json& event, const char* key, std::size_t index) const {
        const auto found = event.find(key);
        if (found == event.end() || !found->is_number()) {
            fail(fmt::format("/traceEvents/{}/{}", index, key),
                 "expected a number of microseconds");
        }
        return found->get<double>();
    }

    static std::optional<std::int64_t> correlation_of(const json& event) {
        const auto args = event.find("args");
        if (args == event.end() || !args->is_object()) return std::nullopt;
        const auto found = args->find("correlation");
        if (found == args->end() || !found->is_number_integer()) return std::nullopt;
        return found->get<std::int64_t>();
    }

    std::int64_t elements_of(const json& event, std::size_t index) const {
        const auto refuse = [&](std::string_view problem) {
            fail(fmt::format("/traceEvents/{}", index), problem);
        };
        const auto args = event.find("args");
        if (args == event.end() || !args->is_object() || !args->contains("Input Dims")) {
            refuse(
                "a gradient without \"Input Dims\": expected a trace of a profiler with "
                "record_shapes=True");
        }
        const json& all = args->at("Input Dims");
        if (!all.is_array() || all.empty() || !all.front().is_array()) {
            refuse("expected the sizes of a gradient as \"Input Dims\"");
        }
        std::int64_t elements = 1;
        for (const json& size : all.front()) {
            const bool fits = size.is_number_integer() && size.get<std::int64_t>() >= 1 &&
                              size.get<std::int64_t>() <= elements_most / elements;
            if (!fits) refuse("expected the sizes of a gradient as \"Input Dims\"");
            elements *= size.get<std::int64_t>();
        }
        return elements;
    }

    void take(const json& event, std::size_t index) {
        if (!event.is_object() || text_of(event, "ph") != "X") return;
        const std::string_view name = text_of(event, "name");
        const std::string_view kind = text_of(event, "cat");
        const double begin = time_of(event, "ts", index);
        const double lasts = time_of(event, "dur", index);
        if (lasts < 0) {
            fail(fmt::format("/traceEvents/{}/dur", index),
                 fmt::format("expected a time of at least 0 us, found {}", lasts));
        }
        const Stretch stretch{begin, begin + lasts};
        if (name.starts_with("nccl") || name.starts_with("gloo:") || name.starts_with("c10d::")) {
            fail(fmt::format("/traceEvents/{}", index),
                 fmt::format("expected training of one worker alone, found \"{}\"", name));
        }
        if (kind == "kernel" || kind == "gpu_memcpy" || kind == "gpu_memset") {
            if (const auto id = correlation_of(event)) take_done(*id, stretch);
        } else if (kind == "cuda_runtime" || kind == "cuda_driver") {
            if (const auto id = correlation_of(event)) launched_by_id_[*id] = begin;
        } else if (kind.starts_with("gpu_")) {
            return;  // what the host has said already
        } else if (name.starts_with(step_prefix)) {
            steps.push_back(stretch);
        } else if (name == gradient_name) {
            gradients.push_back({stretch.end_us, elements_of(event, index)});
        } else if (name.starts_with(backward_prefix)) {
            const auto number = static_cast<std::uint32_t>(names_.size());
            backward.push_back({begin, stretch.end_us,
                                names_.try_emplace(std::string(name), number).first->second});
        } else if (kind == "cpu_op") {
            operations_us_.push_back(begin);
        }
        if (kind != "Trace" && !name.starts_with(step_prefix)) {
            all_.begin_us = std::min(all_.begin_us, stretch.begin_us);
            all_.end_us = std::max(all_.end_us, stretch.end_us);
        }
    }

    // All that one call launched, as a CUDA graph's kernels are, from the first to the last.
    void take_done(std::int64_t id, const Stretch& stretch) {
        Stretch& done = done_by_id_.try_emplace(id, stretch).first->second;
        done.begin_us = std::min(done.begin_us, stretch.begin_us);
        done.end_us = std::max(done.end_us, stretch.end_us);
    }

    void finish() {
        if (gradients.empty()) {
            fail("", fmt::format("expected training, found no \"{}\"", gradient_name));
        }
        std::ranges::stable_sort(backward, {}, &BackwardFunction::begin_us);
        std::ranges::stable_sort(gradients, {}, &ReadyGradient::at_us);
        std::ranges::sort(operations_us_);
        if (steps.empty()) {
            const std::size_t passes = passes_of({backward, gradients}, false);
            if (passes > 1) {
                fail("", fmt::format("expected a backward pass a step, found {} of the same {} "
                                     "gradients without \"{}\" marks: call prof.step() after "
                                     "each step",
                                     passes, gradients.size() / passes, step_prefix));
            }
            steps.push_back(all_);
        }
        std::ranges::sort(steps, {}, &Stretch::begin_us);
        for (const auto& [id, done] : done_by_id_) {
            const auto launch = launched_by_id_.find(id);
            work_.push_back(
                {launch == launched_by_id_.end() ? done.begin_us : launch->second, done});
        }
        std::ranges::stable_sort(work_, {}, &LaunchedWork::launched_us);
        for (std::size_t i = 1; i < work_.size(); ++i) {
            work_[i].done.end_us = std::max(work_[i].done.end_us, work_[i - 1].done.end_us);
        }
    }

    bool is_made_of(std::size_t passes, const BackwardEvents& of, bool with_forward) const {
        if (of.gradients.size() % passes != 0 || of.backward.empty()) return false;
        const std::size_t length = of.gradients.size() / passes;
        const auto sizes_from = [&](std::size_t first) {
            std::vector<std::int64_t> sizes;
            for (const ReadyGradient& one : of.gradients.subspan(first, length)) {
                sizes.push_back(one.elements);
            }
            std::ranges::sort(sizes);
            return sizes;
        };
        const std::vector<std::int64_t> sizes = sizes_from(0);
        for (std::size_t first = length; first < of.gradients.size(); first += length) {
            const double ready_us = of.gradients[first - 1].at_us;
            const auto next =
                std::ranges::lower_bound(of.backward, ready_us, {}, &BackwardFunction::begin_us);
            const bool begins_anew =
                next != of.backward.end() && next->name == of.backward.front().name;
            if (!begins_anew || sizes_from(first) != sizes) return false;
            if (!with_forward) continue;
            const double over_us =
                next == of.backward.begin() ? ready_us : std::max(ready_us, (next - 1)->end_us);
            const auto forward = std::ranges::lower_bound(operations_us_, over_us);
            if (forward == operations_us_.end() || *forward >= next->begin_us) return false;
        }
        return true;
    }

    std::string_view file_;
    std::map<std::string, std::uint32_t> names_;  // of functions of backward passes
    std::map<std::int64_t, Stretch> done_by_id_;
    std::map<std::int64_t, double> launched_by_id_;
    std::vector<double> operations_us_;  // when those begin that are of no backward pass, or in it
    std::vector<LaunchedWork> work_;  // as it was launched; ends never before those of earlier ones
    Stretch all_{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
};

// Of each step that trains, what the medians are taken of.
struct TracedSteps {
    std::vector<double> seconds;
    std::vector<double> backward_shares;
    std::vector<std::vector<double>> ready;  // by gradient
    std::vector<std::int64_t> elements;      // of the first step's gradients
};

void add_step(const ProfilerEvents& events, const Stretch& step, std::optional<double> last_end,
              TracedSteps& times) {
    const auto inside = [&](const auto& all, auto at) {
        const auto begin = std::ranges::lower_bound(all, step.begin_us, {}, at);
        return std::span(begin, std::ranges::upper_bound(begin, all.end(), step.end_us, {}, at));
    };
    const std::span backward = inside(events.backward, &BackwardFunction::begin_us);
    const std::span gradients = inside(events.gradients, &ReadyGradient::at_us);
    if (gradients.empty()) return;  // a step that does not train
    if (backward.empty()) {
        events.fail("", "expected functions of a backward pass in each step");
    }
    const std::size_t passes = events.passes_of({backward, gradients}, true);
    if (passes > 1) {
        events.fail("", fmt::format("expected a backward pass a step, found {} of the same {} "
                                    "gradients in one \"{}\": record steps that do not "
                                    "accumulate gradients",
                                    passes, gradients.size() / passes, step_prefix));
    }
    std::vector<std::int64_t> elements;
    for (const ReadyGradient& one : gradients) elements.push_back(one.elements);
    if (times.elements.empty()) {
        times.elements = elements;
        times.ready.resize(elements.size());
    } else if (elements != times.elements) {
        events.fail("", "expected equal gradients in all steps");
    }
    Stretch whole = step;
    if (events.has_device()) {
        whole.begin_us = last_end.value_or(events.first_work(step).value_or(step.begin_us));
        whole.end_us = std::max(events.done_at(step.end_us), whole.begin_us);
    }
    const double begin = events.done_at(backward.front().begin_us);
    const double length = events.done_at(gradients.back().at_us) - begin;
    const double total = whole.end_us - whole.begin_us;
    if (!(length > 0) || !(total >= length)) {
        events.fail("", "expected a backward pass that takes time within its step");
    }
    times.seconds.push_back(total * 1e-6);
    times.backward_shares.push_back(length / total);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const double at = (events.done_at(gradients[i].at_us) - begin) / length;
        times.ready[i].push_back(std::clamp(at, 0.0, 1.0));
    }
}

}  // namespace

ProfiledStep parse_profiler_trace(std::string_view text, std::string_view file) {
    const ProfilerEvents events(text, file);
    TracedSteps times;
    std::optional<double> last_end;
    for (const Stretch& step : events.steps) {
        add_step(events, step, last_end, times);
        last_end = events.done_at(step.end_us);
    }
    if (times.seconds.empty()) events.fail("", "expected a step with gradients");
    ProfiledStep profiled;
    profiled.steps = static_cast<std::int64_t>(times.seconds.size());
    profiled.seconds = median(times.seconds);
    profiled.backward_share = median(times.backward_shares);
    for (std::size_t i = 0; i < times.elements.size(); ++i) {
        profiled.gradients.push_back({times.elements[i], median(times.ready[i])});
    }
    return profiled;
}

}  // namespace ukemi::scenarios
