// shown.hpp — Observations and Plans in Python: values of its own, or the world's while it asks.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "policies/policy.hpp"
#include "python/bindings.hpp"

namespace ukemi::python {

// An Observation or a Plan: one of its own, or the world's for the time of a question.
template <class Value>
class Shown {
public:
    Shown() = default;
    explicit Shown(Value own) : own_(std::make_shared<const Value>(std::move(own))) {}
    void show(const Value* value) { shown_ = value; }
    const Value& get() const {
        if (shown_ != nullptr) return *shown_;
        if (own_) return *own_;
        throw std::runtime_error(
            "is only there while its question is asked: keep copies of numbers");
    }

private:
    const Value* shown_ = nullptr;
    std::shared_ptr<const Value> own_;
};

// One of each policy: objects that show what the question is about, while it is asked.
struct View {
    const policies::PolicyView* view = nullptr;
    py::object seen = py::cast(Shown<policies::Observation>());
    py::object plan = py::cast(Shown<policies::Plan>());
    Shown<policies::Observation>* seen_value = seen.cast<Shown<policies::Observation>*>();
    Shown<policies::Plan>* plan_value = plan.cast<Shown<policies::Plan>*>();

    void show(const policies::PolicyView* question) {
        view = question;
        seen_value->show(question == nullptr ? nullptr : &question->seen);
        plan_value->show(question == nullptr ? nullptr : &question->plan);
    }
    const policies::PolicyView& get() const {
        if (view == nullptr)
            throw std::runtime_error("a view is only there while it is asked about");
        return *view;
    }
};

}  // namespace ukemi::python
