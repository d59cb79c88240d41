#include "scenarios/reader/step_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/invariant.hpp"
#include "base/statistics.hpp"
#include "policies/codec_text.hpp"

namespace ukemi::scenarios {

namespace {

double samples_of(const StepSetting& setting) {
    return static_cast<double>(setting.batch) * setting.micro_steps;
}

template <class Value>
std::string_view name(std::span<const std::string_view> names, Value value) {
    return names[static_cast<std::size_t>(value)];
}

}  // namespace

StepSetting setting_of(const policies::Plan& plan, std::int32_t workers) {
    StepSetting setting;
    setting.workers = workers;
    setting.micro_steps = plan.accumulation * plan.learners_per_gpu;
    const std::int64_t samples = (policies::samples_per_step(plan, workers) - 1) / workers + 1;
    setting.batch = (samples - 1) / setting.micro_steps + 1;
    setting.synchronisation = plan.synchronisation;
    setting.collective = plan.collective;
    setting.codec = plan.codec;
    setting.codec_level = plan.codec_level;
    return setting;
}

policies::Plan plan_with(policies::Plan plan, const StepSetting& setting) {
    plan.global_batch = 0;
    plan.batch_per_learner = setting.batch;
    // A worker that averages models has one learner, and still may add up micro-batches.
    const bool averages = setting.synchronisation != policies::Synchronisation::s_sgd;
    plan.accumulation = averages ? setting.micro_steps : 1;
    plan.learners_per_gpu = averages ? 1 : setting.micro_steps;
    plan.synchronisation = setting.synchronisation;
    plan.collective = setting.collective;
    plan.codec = setting.codec;
    plan.codec_level = setting.codec_level;
    return plan;
}

std::string setting_text(const StepSetting& setting) {
    std::string text = fmt::format("{} worker{}, batch {}", setting.workers,
                                   setting.workers == 1 ? "" : "s", setting.batch);
    if (setting.micro_steps > 1) text += fmt::format(", {} micro-steps", setting.micro_steps);
    text += fmt::format(", {}", name(policies::synchronisation_names(), setting.synchronisation));
    if (setting.collective != policies::Collective::automatic) {
        text += fmt::format(", {}", name(policies::collective_names(), setting.collective));
    }
    if (setting.codec != policies::Codec::none) {
        text += ", " + policies::text_of({setting.codec, setting.codec_level});
    }
    return text;
}

StepLaw::Kind StepLaw::kind_of(const StepSetting& setting) {
    return {setting.synchronisation, setting.collective, setting.codec, setting.codec_level};
}

bool StepLaw::is_plain(const StepSetting& setting) {
    return setting.synchronisation == policies::Synchronisation::s_sgd &&
           setting.codec == policies::Codec::none;
}

double StepLaw::without_exchange(const Group& group, const StepSetting& setting) {
    const double samples = samples_of(setting);
    const auto own = group.lines.find(kind_of(setting));
    const LineFit& line = own == group.lines.end() ? group.line : own->second;
    return line.at(samples) + (setting.micro_steps - 1) * group.micro_s;
}

StepLaw::StepLaw(std::span<const MeasuredStep> measured)
    : measured_(measured.begin(), measured.end()) {
    std::set<std::int32_t> sizes;
    for (const MeasuredStep& one : measured_) sizes.insert(one.setting.workers);
    for (const std::int32_t workers : sizes) {
        const auto each = [&](auto wanted, auto take) {
            for (const MeasuredStep& one : measured_) {
                if (one.setting.workers == workers && wanted(one.setting)) take(one);
            }
        };
        Group group;
        std::vector<LinePoint> line;
        // Another collective is a kind of its own, unless plain steps had no other.
        Kind plain{};
        each(is_plain, [&](const MeasuredStep& one) {
            if (one.setting.micro_steps > 1) return;
            if (line.empty()) plain = kind_of(one.setting);
            if (kind_of(one.setting) != plain) return;
            line.push_back({static_cast<double>(one.setting.batch), one.s});
        });
        if (line.empty()) continue;  // nothing to hold the others against
        group.line = fit_line(line);
        std::vector<double> micro;
        each([&](const StepSetting& s) { return kind_of(s) == plain && s.micro_steps > 1; },
             [&](const MeasuredStep& one) {
                 micro.push_back((one.s - without_exchange(group, one.setting)) /
                                 (one.setting.micro_steps - 1));
             });
        if (!micro.empty()) group.micro_s = std::max(median(micro), 0.0);
        std::map<Kind, std::vector<LinePoint>> points;
        each([&](const StepSetting& s) { return kind_of(s) != plain && s.micro_steps == 1; },
             [&](const MeasuredStep& one) {
                 points[kind_of(one.setting)].push_back(
                     {static_cast<double>(one.setting.batch), one.s});
             });
        for (const auto& [kind, of_kind] : points) {
            if (of_kind.size() >= 2) group.lines[kind] = fit_line(of_kind);
        }
        std::map<Kind, std::vector<double>> left;
        each([&](const StepSetting& s) { return kind_of(s) != plain; },
             [&](const MeasuredStep& one) {
                 left[kind_of(one.setting)].push_back(one.s - without_exchange(group, one.setting));
             });
        for (const auto& [kind, values] : left) {
            group.exchange_s[kind] = group.lines.contains(kind) ? 0 : median(values);
        }
        group.exchange_s[plain] = 0;
        each(
            [](const StepSetting&) { return true; },
            [&](const MeasuredStep& one) {
                const double samples = samples_of(one.setting);
                auto& range =
                    group.samples.try_emplace(kind_of(one.setting), samples, samples).first->second;
                range = {std::min(range.first, samples), std::max(range.second, samples)};
                group.micro_most = std::max(group.micro_most, one.setting.micro_steps);
            });
        groups_[workers] = std::move(group);
    }
}

std::string StepLaw::refusal(const StepSetting& setting) const {
    const auto group = groups_.find(setting.workers);
    if (group == groups_.end()) {
        return fmt::format("no steps of plain s_sgd were measured with {} workers",
                           setting.workers);
    }
    if (!group->second.exchange_s.contains(kind_of(setting))) {
        return fmt::format("nothing of this kind was measured with so many workers ({})",
                           setting_text(setting));
    }
    if (group->second.line.points < 2 && !group->second.line.covers(samples_of(setting))) {
        return fmt::format("only one batch was measured with {} workers", setting.workers);
    }
    return {};
}

double StepLaw::step_s(const StepSetting& setting) const {
    INVARIANT(refusal(setting).empty());
    const Group& group = groups_.at(setting.workers);
    const double s = without_exchange(group, setting) + group.exchange_s.at(kind_of(setting));
    return std::max(s, 1e-9);
}

bool StepLaw::covers(const StepSetting& setting) const {
    const auto group = groups_.find(setting.workers);
    if (group == groups_.end()) return false;
    const auto range = group->second.samples.find(kind_of(setting));
    if (range == group->second.samples.end()) return false;
    const double samples = samples_of(setting);
    return samples >= range->second.first && samples <= range->second.second &&
           setting.micro_steps <= group->second.micro_most;
}

std::vector<StepLaw::Residual> StepLaw::residuals() const {
    std::vector<Residual> all;
    for (const MeasuredStep& one : measured_) {
        if (refusal(one.setting).empty()) {
            all.push_back({one.setting, one.s, step_s(one.setting)});
        }
    }
    return all;
}

std::vector<StepLaw::Line> StepLaw::lines() const {
    std::vector<Line> all;
    for (const auto& [workers, group] : groups_)
        all.push_back({workers, group.line, group.micro_s});
    return all;
}

}  // namespace ukemi::scenarios
