// policies.cpp — policies that are written in Python, and how the registry knows them.
#include <deque>
#include <memory>
#include <utility>

#include "base/input_error.hpp"
#include "base/unit_text.hpp"
#include "policies/foreign_policy.hpp"
#include "policies/registry.hpp"
#include "python/bindings.hpp"
#include "python/convert.hpp"
#include "python/shown.hpp"

namespace ukemi::python {

namespace {

using policies::Decision;
using policies::EventKind;
using policies::Hook;
using policies::PolicyView;

// ---- policies in Python ------------------------------------------------------------------------

// Python's state of a thread that it has not started is kept as long as the thread is: making it at
// each question would cost more than the question.
class ThreadState {
public:
    ThreadState() : state_(PyGILState_Ensure()) { saved_ = PyEval_SaveThread(); }
    ~ThreadState() {
        PyEval_RestoreThread(saved_);
        PyGILState_Release(state_);
    }
    ThreadState(const ThreadState&) = delete;
    ThreadState& operator=(const ThreadState&) = delete;

private:
    PyGILState_STATE state_;
    PyThreadState* saved_;
};

// Python may be used while it lives, on any thread.
class InPython {
public:
    InPython() {
        if (PyGILState_Check() == 0) thread_local const ThreadState state;
        state_ = PyGILState_Ensure();
    }
    ~InPython() { PyGILState_Release(state_); }
    InPython(const InPython&) = delete;
    InPython& operator=(const InPython&) = delete;

private:
    PyGILState_STATE state_;
};

template <class Set, class Kind>
Set set_of_names(py::handle names, std::span<const std::string_view> known, const char* what) {
    Set set;
    for (const py::handle name : names) {
        const auto found = std::ranges::find(known, name.cast<std::string>());
        if (found == known.end()) {
            refuse(what, fmt::format("some of {}", fmt::join(known, ", ")).c_str(), name);
        }
        set = set | Set{static_cast<Kind>(found - known.begin())};
    }
    return set;
}

policies::PolicyTraits traits_of(const py::object& self) {
    policies::PolicyTraits traits;
    traits.knobs = set_of_names<policies::KnobSet, policies::Knob>(self.attr("knobs"),
                                                                   policies::knob_names(), "knobs");
    traits.hooks =
        set_of_names<policies::HookSet, Hook>(self.attr("hooks"), policies::hook_names(), "hooks");
    traits.every_steps = self.attr("every_steps").cast<std::int64_t>();
    traits.looks_at_ages = self.attr("looks_at_ages").cast<bool>();
    traits.looks_at_workers = self.attr("looks_at_workers").cast<bool>();
    traits.looks_at_links = self.attr("looks_at_links").cast<bool>();
    return traits;
}

class PythonPolicy final : public policies::ForeignPolicy {
public:
    PythonPolicy(std::string_view name, const py::object& self)
        : ForeignPolicy(name, traits_of(self)), own_(std::make_unique<Own>(self)) {
        for (std::size_t hook = 0; hook < policies::hook_count; ++hook) {
            own_->methods[hook] =
                own_->self.attr(std::string(policies::hook_names()[hook]).c_str());
        }
    }
    ~PythonPolicy() override {
        const InPython python;
        own_.reset();
    }

private:
    struct Own {
        explicit Own(py::object policy) : self(std::move(policy)), view(py::cast(View())) {
            shown = view.cast<View*>();
        }
        py::object self;
        py::object methods[policies::hook_count];
        py::object view;
        View* shown;
    };

    Decision ask(Hook hook, const PolicyView& view, EventKind kind) override {
        const InPython python;
        own_->shown->show(&view);
        try {
            Decision decision = answer(hook, kind);
            own_->shown->show(nullptr);
            return decision;
        } catch (py::error_already_set& raised) {
            own_->shown->show(nullptr);
            fail(hook, kind, view, raised);
        } catch (const std::exception& error) {
            own_->shown->show(nullptr);
            PyErr_SetString(PyExc_TypeError, error.what());
            fail(hook, kind, view, py::error_already_set());
        }
    }

    Decision answer(Hook hook, EventKind kind) {
        static const std::vector<py::handle> kinds = [] {
            std::vector<py::handle> all;
            const auto names = policies::event_kind_names();
            for (std::size_t i = 0; i < names.size(); ++i) all.push_back(python_name(names, i));
            return all;
        }();
        const bool has_kind = hook == Hook::on_event;
        PyObject* arguments[] = {nullptr, kinds[static_cast<std::size_t>(kind)].ptr(),
                                 own_->view.ptr()};
        PyObject** const first = has_kind ? arguments + 1 : arguments + 2;
        PyObject* const result =
            PyObject_Vectorcall(own_->methods[static_cast<std::size_t>(hook)].ptr(), first,
                                (has_kind ? 2U : 1U) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
        if (result == nullptr) throw py::error_already_set();
        const py::object said = py::reinterpret_steal<py::object>(result);
        if (said.is_none()) return {};
        py::detail::make_caster<Decision> caster;
        if (!caster.load(said, false)) {
            throw std::runtime_error(
                fmt::format("{}.{}: expected a Decision or None, found {}", name(),
                            policies::hook_names()[static_cast<std::size_t>(hook)],
                            py::repr(said).cast<std::string>()));
        }
        const Decision& decision = py::detail::cast_op<const Decision&>(caster);
        expect_own_knobs(decision);
        return decision;
    }

    [[noreturn]] void fail(Hook hook, EventKind kind, const PolicyView& view,
                           const py::error_already_set& raised) const {
        throw PolicyFailure(fmt::format("{}: {}", question_text(hook, view, kind), raised.what()),
                            raised);
    }

    std::unique_ptr<Own> own_;
};

// ---- the registry ------------------------------------------------------------------------------

struct Registered {
    std::string name;
    std::string summary;
    py::object type;  // called with a policy's parameters
    std::string short_parameter;
    policies::PolicyEntry entry;
};

// Never destroyed: the registry points into it, and Python is gone by then.
std::deque<Registered>& registered() {
    static auto* const all = new std::deque<Registered>;
    return *all;
}

std::unique_ptr<policies::Policy> make_python_policy(const policies::PolicyEntry& entry,
                                                     ConfigReader& parameters) {
    const InPython python;
    const auto own = std::ranges::find(registered(), entry.name, &Registered::name);
    const std::string text = parameters.object_text();
    try {
        py::dict settings = py::module_::import("json").attr("loads")(text);
        settings.attr("pop")("name", py::none());
        return std::make_unique<PythonPolicy>(entry.name, own->type(**settings));
    } catch (py::error_already_set& raised) {
        if (!raised.matches(PyExc_TypeError) && !raised.matches(PyExc_ValueError)) throw;
        parameters.fail("", fmt::format("policy \"{}\": {}", entry.name,
                                        py::str(raised.value()).cast<std::string>()));
    } catch (const py::builtin_exception& error) {
        parameters.fail("", fmt::format("policy \"{}\": {}", entry.name, error.what()));
    }
}

void register_policy(const std::string& name, const std::string& summary, py::object type,
                     bool needs_deadline, const std::string& short_parameter) {
    const auto known = std::ranges::find(registered(), name, &Registered::name);
    if (known != registered().end() && known->type.is(type)) return;
    if (experiments_running > 0) {
        throw std::runtime_error(
            fmt::format("policy \"{}\" is new, and something runs: register it before", name));
    }
    if (known != registered().end()) {  // a class that was written anew, as in a notebook
        known->type = std::move(type);
        known->summary = summary;
        known->short_parameter = short_parameter;
        known->entry.summary = known->summary;
        known->entry.short_parameter = known->short_parameter;
        known->entry.needs_deadline = needs_deadline;
        return;
    }
    if (policies::find_policy(name) != nullptr) {
        throw py::value_error(fmt::format("there is a policy \"{}\" already", name));
    }
    Registered& one = registered().emplace_back(name, summary, std::move(type), short_parameter);
    one.entry.name = one.name;
    one.entry.alias = "";
    one.entry.summary = one.summary;
    one.entry.short_parameter = one.short_parameter;
    one.entry.source = "Python";
    one.entry.make = nullptr;
    one.entry.make_from = make_python_policy;
    one.entry.needs_deadline = needs_deadline;
    policies::add_policies(std::span(&one.entry, 1));
}

}  // namespace

void bind_policies(py::module_& module) { module.def("register_policy", &register_policy); }

}  // namespace ukemi::python
