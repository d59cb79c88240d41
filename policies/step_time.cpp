#include "policies/step_time.hpp"

#include <algorithm>
#include <limits>

namespace ukemi::policies {

namespace {

constexpr Int128 sum_longest = days(3660).raw();

Int128 compute_of(const std::vector<BatchTime>& points, std::int64_t batch) {
    INVARIANT(!points.empty());
    if (batch <= points.front().batch) return points.front().time.raw();
    if (points.size() == 1) {
        return static_cast<Int128>(points.front().time.raw()) * batch / points.front().batch;
    }
    std::size_t right = 1;
    while (right + 1 < points.size() && points[right].batch < batch) ++right;
    const BatchTime& a = points[right - 1];
    const BatchTime& b = points[right];
    const Int128 rise = (b.time - a.time).raw();
    return a.time.raw() + rise * (batch - a.batch) / (b.batch - a.batch);
}

// Alone nothing is sent, unless somebody has measured what that takes.
Int128 exchange_in(const TimeBySize& times, std::int32_t workers) {
    if (workers < 2 && !times.empty() && times.front().workers > 1) return 0;
    return time_for_size(times, workers).raw();
}

// What the workers of a group of this size compute, each of them as much as the slowest.
struct Computing {
    Int128 micro_step = 0;
    Int128 update = 0;
};

Int128 time_in(const std::vector<GroupTime>& groups, std::vector<BatchTime> GroupTime::*times,
               std::int64_t batch, std::int32_t workers) {
    return nanoseconds_for_size(
        groups, workers, [&](const GroupTime& group) { return compute_of(group.*times, batch); });
}

// `row`: a StepTime, or what it has of several learners.
template <class Row>
Computing computing_in(const std::vector<GroupTime>& groups, const Row& row, std::int64_t batch,
                       std::int32_t workers) {
    if (groups.empty() || groups.front().compute.empty()) {
        return {compute_of(row.compute, batch), row.update.raw()};
    }
    return {time_in(groups, &GroupTime::compute, batch, workers),
            nanoseconds_for_size(groups, workers, [](const GroupTime& group) {
                return static_cast<Int128>(group.update.raw());
            })};
}

Int128 whole_step(const std::vector<GroupTime>& groups, Int128 computed, std::int64_t batch,
                  std::int64_t micro_steps, std::int32_t workers) {
    if (micro_steps == 1 || groups.front().further.empty()) {
        return time_in(groups, &GroupTime::steps, batch, workers) + (micro_steps - 1) * computed;
    }
    return time_in(groups, &GroupTime::twice, batch, workers) +
           (micro_steps - 2) * time_in(groups, &GroupTime::further, batch, workers);
}

// Alone nothing is sent, unless a machine has several GPUs that do.
const CodecTime* codec_of(const StepTime& time, const Plan& plan, std::int32_t workers) {
    const CodecTime* row = codec_time(time, plan);
    if (row == nullptr || workers > 1) return row;
    return !row->groups.empty() && row->groups.front().workers == 1 ? row : nullptr;
}

}  // namespace

std::vector<BatchTime> affine_time(Duration fixed, Duration per_sample) {
    return {{1, fixed + per_sample}, {1'001, fixed + 1'001 * per_sample}};
}

const CodecTime* codec_time(const StepTime& time, const Plan& plan) {
    if (plan.codec == Codec::none) return nullptr;
    for (const CodecTime& row : time.codecs) {
        if (row.codec != plan.codec) continue;
        if (row.level == plan.codec_level || (row.usual_level && plan.codec_level == 0))
            return &row;
    }
    return nullptr;
}

namespace {

struct Parts {
    Int128 compute = 0;
    Int128 communication = 0;
    Int128 encoding = 0;
    const CodecTime* row = nullptr;

    Int128 sum() const { return compute + communication + encoding; }
    // Communication is what is left of a whole step; stragglers may be faster than they mostly are.
    void fill(Int128 whole) {
        encoding = std::min(encoding, whole);
        compute = std::min(compute, whole - encoding);
        communication = whole - encoding - compute;
    }
};

// Several learners on each GPU, of whom whole steps are known. No codec is priced with them.
Parts parts_of_learners(const LearnerSteps& row, const Plan& plan, std::int32_t workers) {
    std::int64_t samples = (samples_per_step(plan, workers) - 1) / workers + 1;
    samples = (samples - 1) / plan.learners_per_gpu + 1;
    const std::int64_t micro_steps =
        std::max<std::int64_t>(plan.accumulation, (samples - 1) / row.worker_batch_max + 1);
    const std::int64_t batch = (samples - 1) / micro_steps + 1;
    Parts parts;
    const Computing computing = computing_in(row.groups, row, batch, workers);
    parts.compute = computing.micro_step * micro_steps + computing.update;
    parts.fill(whole_step(row.groups, computing.micro_step, batch, micro_steps, workers));
    if (plan.learners_per_gpu > row.learners) {
        for (Int128* part : {&parts.compute, &parts.communication}) {
            *part = *part * plan.learners_per_gpu / row.learners;
        }
    }
    return parts;
}

Parts parts_of_any(const StepTime& time, const Plan& plan, std::int32_t workers) {
    INVARIANT(workers >= 1);
    if (!time.learner_steps.empty() && plan.learners_per_gpu > 1) {
        const auto last = std::ssize(time.learner_steps) - 1;
        const auto index = std::min<std::ptrdiff_t>(plan.learners_per_gpu - 2, last);
        return parts_of_learners(time.learner_steps[static_cast<std::size_t>(index)], plan,
                                 workers);
    }
    // Of the slowest worker: the one with the remainder of a batch that does not divide.
    std::int64_t samples = (samples_per_step(plan, workers) - 1) / workers + 1;
    const bool side_by_side = !time.learner_speeds.empty() && plan.learners_per_gpu > 1;
    std::int64_t fits = time.worker_batch_max > 0 ? time.worker_batch_max : samples;
    if (side_by_side) {
        samples = (samples - 1) / plan.learners_per_gpu + 1;
        fits = std::max<std::int64_t>(fits / plan.learners_per_gpu, 1);
    }
    const std::int64_t micro_steps =
        std::max<std::int64_t>(plan.accumulation, (samples - 1) / fits + 1);
    const std::int64_t batch = (samples - 1) / micro_steps + 1;
    Parts parts;
    parts.row = codec_of(time, plan, workers);
    const bool coded = parts.row != nullptr && !parts.row->groups.empty();
    const std::vector<GroupTime>& groups = coded ? parts.row->groups : time.groups;
    const Computing computing = computing_in(groups, time, batch, workers);
    parts.compute = computing.micro_step * micro_steps + computing.update;
    if (side_by_side) {
        const auto last = std::ssize(time.learner_speeds) - 1;
        const auto index = std::min<std::ptrdiff_t>(plan.learners_per_gpu - 1, last);
        parts.compute = parts.compute * plan.learners_per_gpu * 1000 /
                        time.learner_speeds[static_cast<std::size_t>(index)];
    }
    const auto exchange =
        std::ranges::find(time.exchanges, plan.synchronisation, &ExchangeTime::synchronisation);
    parts.encoding = parts.row != nullptr ? time_for_size(parts.row->encoding, workers).raw() : 0;
    if (parts.row != nullptr && !coded) {
        parts.communication = time_for_size(parts.row->synchronisation, workers).raw();
    } else if (!coded && exchange != time.exchanges.end()) {
        parts.communication = exchange_in(exchange->times, workers);
    } else if (groups.empty()) {
        parts.communication = exchange_in(time.synchronisation, workers);
    } else {
        parts.fill(whole_step(groups, computing.micro_step, batch, micro_steps, workers));
    }
    return parts;
}

Parts parts_of(const StepTime& time, const Plan& plan, std::int32_t workers) {
    Parts parts = parts_of_any(time, plan, workers);
    const Int128 input = static_cast<Int128>(time.input_of_a_million.raw()) *
                         samples_per_step(plan, workers) / 1'000'000;
    parts.communication += std::max<Int128>(input - parts.sum(), 0);
    return parts;
}

Duration bounded(Int128 time) {
    return nanoseconds(static_cast<std::int64_t>(std::clamp<Int128>(time, 0, sum_longest)));
}

}  // namespace

Duration step_of(const StepTime& time, const Plan& plan, std::int32_t workers) {
    const Parts parts = parts_of(time, plan, workers);
    return std::max(bounded(parts.sum()), nanoseconds(1));
}

ExchangeView exchange_of(const StepTime& time, const Plan& plan, std::int32_t workers) {
    const Parts parts = parts_of(time, plan, workers);
    ExchangeView view;
    view.compute = bounded(parts.compute);
    view.communication = bounded(parts.communication);
    view.encoding = bounded(parts.encoding);
    view.exposed = bounded(parts.communication + parts.encoding);
    if (workers > 1) view.bytes = time.bytes;
    if (parts.row != nullptr) view.bytes = parts.row->bytes;
    view.relative_error = parts.row != nullptr ? parts.row->relative_error : 0;
    return view;
}

}  // namespace ukemi::policies
