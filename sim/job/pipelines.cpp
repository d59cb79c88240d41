// pipelines.cpp — places, takeovers and meetings.
#include "sim/job/pipelines.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

namespace {

Duration share_of(const PipelineRules& rules, Duration time, std::int32_t per_mille) {
    const Int128 exact = static_cast<Int128>(time.raw()) * per_mille / 1000;
    const Duration share = Duration::of(static_cast<std::int64_t>(exact));
    return rules.as_simulated ? round_down_to(share, milliseconds(1)) : share;
}

}  // namespace

Duration slowed_step(const PipelineRules& rules, Duration step) {
    return share_of(rules, step, rules.takeover_per_mille);
}

Duration slowed_more(const PipelineRules& rules, Duration rest) {
    return share_of(rules, rest, rules.takeover_per_mille - 1000);
}

PipelineMachine* Pipelines::find(InstanceId id) {
    const auto found = std::ranges::lower_bound(machines_, id, {}, &PipelineMachine::id);
    return found != machines_.end() && found->id == id ? &*found : nullptr;
}

PipelineMachine* Pipelines::holder_of(const PipelinePlace& place) {
    const auto found = std::ranges::find_if(machines_, [&](const PipelineMachine& one) {
        return std::ranges::find(one.places, place) != one.places.end();
    });
    return found == machines_.end() ? nullptr : &*found;
}

bool Pipelines::anyone_has_a_place() const {
    return std::ranges::any_of(machines_,
                               [](const PipelineMachine& one) { return !one.places.empty(); });
}

// The places that it had; none if it had not started.
std::vector<PipelinePlace> Pipelines::take_out(InstanceId id) {
    PipelineMachine* machine = find(id);
    if (machine == nullptr) return {};
    std::vector<PipelinePlace> places = std::move(machine->places);
    machines_.erase(machines_.begin() + (machine - machines_.data()));
    return places;
}

PipelineOrder Pipelines::call(PipelineOrder meeting) {
    status_ = Status::meeting;
    called_.clear();
    for (const PipelineMachine& one : machines_) called_.push_back(one.id);
    return meeting;
}

PipelineOrder Pipelines::started(InstanceId id) {
    const auto place = std::ranges::lower_bound(machines_, id, {}, &PipelineMachine::id);
    machines_.insert(place, {id, {}});
    if (status_ == Status::stopped) return call(PipelineOrder::meet_all);
    if (status_ == Status::meeting) {
        called_.push_back(id);
    } else {
        ++spares_;
    }
    return PipelineOrder::none;
}

PipelineOrder Pipelines::started_with_others(InstanceId id) {
    const bool meets = status_ == Status::meeting && !rules_.as_simulated;
    const PipelineOrder order = started(id);
    return meets ? call(PipelineOrder::meet_anew) : order;
}

PipelineOrder Pipelines::lost(InstanceId id) {
    const bool spare = find(id) != nullptr && find(id)->places.empty();
    const std::vector<PipelinePlace> places = take_out(id);
    bool fatal = places.size() > 1;
    bool taken_over = false;
    if (fatal) --overloaded_;
    if (!rules_.takes_over) {
        fatal = !places.empty();
    } else if (places.size() == 1) {
        const auto [pipeline, stage] = places.front();
        PipelineMachine* shadow = holder_of({pipeline, (stage > 0 ? stage : stages_) - 1});
        fatal = shadow != nullptr && shadow->places.size() > 1;
        taken_over = shadow != nullptr && !fatal;
        if (taken_over) shadow->places.push_back(places.front());
    }
    if (!rules_.as_simulated && !places.empty()) fatal |= !anyone_has_a_place();
    if (fatal) {
        ++counts_.fatal_failures;
        if (!rules_.as_simulated) {  // nobody's part is of any use now
            for (PipelineMachine& one : machines_) one.places.clear();
        }
        return call(PipelineOrder::meet_all);
    }
    if (taken_over) {
        ++overloaded_;
        ++counts_.takeovers;
    }
    if (status_ != Status::running) return PipelineOrder::none;
    if (spare && !rules_.as_simulated) --spares_;
    if (slowed_ || !(taken_over || rules_.as_simulated)) return PipelineOrder::none;
    slowed_ = true;
    return PipelineOrder::slow_down;
}

PipelineOrder Pipelines::lost_with_others(InstanceId id) {
    const bool meets = status_ == Status::meeting && !rules_.as_simulated;
    const PipelineOrder order = lost(id);
    return meets && order == PipelineOrder::none ? call(PipelineOrder::meet_anew) : order;
}

PipelineOrder Pipelines::given_back(InstanceId id) {
    const bool known = find(id) != nullptr;
    const bool had_place = !take_out(id).empty();
    std::erase(called_, id);
    if (!known || status_ != Status::running) return PipelineOrder::none;
    if (had_place) return call(PipelineOrder::meet_within);
    --spares_;
    return PipelineOrder::none;
}

PipelineOrder Pipelines::stepped(const policies::Layout& wanted) {
    INVARIANT(pipelines_ > 0);
    const std::int32_t active = pipelines_ * stages_ - overloaded_;
    const std::int32_t possible = std::min((active + spares_) / stages_, wanted.data);
    const bool enough_spares = overloaded_ > 0 && spares_ >= overloaded_;
    const bool too_many = overloaded_ > 0 && 2.0 * overloaded_ / active > rules_.overloaded_max;
    const bool other = stages_ != wanted.pipeline || pipelines_ > wanted.data;
    if (!enough_spares && !too_many && !other && possible <= pipelines_) {
        return PipelineOrder::none;
    }
    return call(PipelineOrder::meet_within);
}

PipelineOrder Pipelines::waited(const policies::Layout& wanted) {
    if (status_ != Status::stopped || rules_.as_simulated) return PipelineOrder::none;
    const bool enough = wanted.data > 0 && std::ssize(machines_) >= wanted.pipeline;
    return enough ? call(PipelineOrder::meet_all) : PipelineOrder::none;
}

// All who are called, anew; none without pipelines.
void Pipelines::take_places(std::int32_t stages) {
    const auto there = static_cast<std::int32_t>(called_.size());
    stages_ = pipelines_ > 0 ? stages : 0;
    const std::int32_t needed = pipelines_ * stages_;
    for (std::int32_t rank = 0; rank < there; ++rank) {
        PipelineMachine& one = *find(called_[static_cast<std::size_t>(rank)]);
        one.places.clear();
        if (rank < needed) one.places.push_back({rank / stages_, rank % stages_});
    }
    spares_ = there - needed;
    overloaded_ = 0;
}

PipelineOrder Pipelines::met(bool of_all, const policies::Layout& wanted) {
    const auto is_gone = [this](InstanceId id) { return find(id) == nullptr; };
    if (std::ranges::any_of(called_, is_gone)) {
        return call(of_all ? PipelineOrder::meet_all : PipelineOrder::meet_within);
    }
    const auto there = static_cast<std::int32_t>(called_.size());
    pipelines_ = std::min(there / wanted.pipeline, wanted.data);
    // Who waits goes on holding its stages, and others' as a shadow.
    if (pipelines_ > 0 || rules_.as_simulated) take_places(wanted.pipeline);
    slowed_ = false;
    called_.clear();
    ++counts_.meetings;
    status_ = pipelines_ > 0 ? Status::running : Status::stopped;
    return pipelines_ > 0 ? PipelineOrder::form : PipelineOrder::stop;
}

}  // namespace ukemi::sim
