// foreign_policy.hpp — a policy whose answers come from elsewhere (Python, another process): what
// it is was said once, and every question is asked in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "policies/policy.hpp"

namespace ukemi::policies {

// As the functions of Policy by these names.
struct PolicyTraits {
    KnobSet knobs;
    HookSet hooks;
    std::int64_t every_steps = 1;
    bool looks_at_ages = false;
    bool looks_at_workers = false;
    bool looks_at_links = false;
};

// A Decision only looks at its reason: the same words, for the life of the program, from any
// thread. What is longer than that many bytes is cut, and once there were that many different ones,
// a new one is not kept, and says so.
inline constexpr std::size_t reason_bytes_max = 512;
inline constexpr std::size_t reasons_max = 1 << 18;
std::string_view lasting_reason(std::string_view reason);

class ForeignPolicy : public Policy {
public:
    // Throws std::invalid_argument for traits that no policy has.
    ForeignPolicy(std::string_view name, PolicyTraits traits);

    std::string_view name() const final { return name_; }
    KnobSet knobs() const final { return traits_.knobs; }
    HookSet hooks() const final { return traits_.hooks; }
    std::int64_t every_steps() const final { return traits_.every_steps; }
    bool looks_at_ages() const final { return traits_.looks_at_ages; }
    bool looks_at_workers() const final { return traits_.looks_at_workers; }
    bool looks_at_links() const final { return traits_.looks_at_links; }

    Decision before_train(const PolicyView& view) final { return ask(Hook::before_train, view); }
    Decision before_epoch(const PolicyView& view) final { return ask(Hook::before_epoch, view); }
    Decision before_step(const PolicyView& view) final { return ask(Hook::before_step, view); }
    Decision on_event(EventKind kind, const PolicyView& view) final {
        return ask(Hook::on_event, view, kind);
    }
    Decision after_step(const PolicyView& view) final { return ask(Hook::after_step, view); }
    Decision after_epoch(const PolicyView& view) final { return ask(Hook::after_epoch, view); }
    Decision after_train(const PolicyView& view) final { return ask(Hook::after_train, view); }

protected:
    // `kind` is none but for on_event.
    virtual Decision ask(Hook hook, const PolicyView& view, EventKind kind = EventKind::none) = 0;

    // Throws std::invalid_argument if it turns other knobs than its own.
    void expect_own_knobs(const Decision& decision) const;
    // For complaints: "policy NAME, on_event about clock at 2h of scenario time".
    std::string question_text(Hook hook, const PolicyView& view, EventKind kind) const;

private:
    std::string name_;
    PolicyTraits traits_;
};

}  // namespace ukemi::policies
