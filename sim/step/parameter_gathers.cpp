// parameter_gathers.cpp — who has asked for which unit.
#include "sim/step/parameter_gathers.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

ParameterGathers::ParameterGathers(std::vector<DividedPart> parts, std::int32_t replicas,
                                   std::int32_t prefetch)
    : parts_(std::move(parts)), replicas_(replicas), prefetch_(static_cast<std::size_t>(prefetch)) {
    INVARIANT(replicas >= 1 && prefetch >= 0 && !parts_.empty());
}

void ParameterGathers::begin_step() {
    INVARIANT(!under_way_);
    asked_.assign(parts_.size(), 0);
    arrived_ = 0;
}

void ParameterGathers::come_to(std::size_t unit) {
    // What it asks for first at this unit; at the first, for all before it, too.
    std::size_t next = unit == 0 ? 0 : unit + prefetch_;
    for (; next < std::min(parts_.size(), unit + prefetch_ + 1); ++next) ++asked_[next];
}

std::optional<DividedPart> ParameterGathers::take() {
    if (under_way_ || arrived_ == parts_.size() || asked_[arrived_] < replicas_) return {};
    under_way_ = true;
    return parts_[arrived_];
}

void ParameterGathers::arrived() {
    INVARIANT(under_way_);
    under_way_ = false;
    ++arrived_;
}

}  // namespace ukemi::sim
