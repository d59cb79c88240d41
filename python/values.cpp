// values.cpp — what policies are shown and say, as Python objects.
#include "policies/foreign_policy.hpp"
#include "python/attributes.hpp"
#include "python/convert.hpp"
#include "python/shown.hpp"
#include "records/json_fields.hpp"

namespace ukemi::python {

namespace {

using policies::Decision;
using policies::Observation;
using policies::Plan;

// ---- values that policies are shown ------------------------------------------------------------

template <class Value>
std::string fields_of(const char* type, const Value& fields) {
    return fmt::format("{}({})", type, fields);
}

// "name=value, …" of what a table lists.
template <class Table, class Get>
std::string fields_text(const Table& table, Get get) {
    std::string text;
    for_each_line(table, [&](const auto& line) {
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", line.key,
                            py::repr(get(line)).template cast<std::string>());
    });
    return text;
}

template <class Record>
void bind_record(py::module_& module, const char* name, const char* about) {
    py::class_<Record> type(module, name, about);
    type.def(py::init(
        [name](const py::kwargs& fields) { return record_from_python<Record>(name, fields); }));
    for_each_line(records::json_table<Record>, [&](const auto& line) {
        type.def_property_readonly(line.key, [member = line.member](const Record& record) {
            return to_python(record.*member);
        });
    });
    type.def("__eq__", [](const Record& a, const Record& b) { return a == b; });
    type.def("__repr__", [name](const Record& record) {
        return fields_of(name, fields_text(records::json_table<Record>, [&](const auto& line) {
                             return to_python(record.*line.member);
                         }));
    });
}

template <std::size_t index>
py::object seen_field(const Shown<Observation>& seen) {
    return to_python(seen.get().*std::get<index>(records::json_table<Observation>).member);
}

void bind_observation(py::module_& module) {
    using Seen = Shown<Observation>;
    py::class_<Seen> type(module, "Observation", "What a controller can know at this moment.");
    type.def(py::init([](const py::kwargs& fields) {
        Observation seen;
        const auto& table = records::json_table<Observation>;
        set_by_name("Observation", table, fields, [&](const auto& line, py::handle value) {
            from_python(line.key, value, seen.*line.member);
        });
        return Seen(std::move(seen));
    }));
    constexpr std::size_t count = line_count(records::json_table<Observation>);
    [&]<std::size_t... index>(std::index_sequence<index...>) {
        (add_attribute<Seen, seen_field<index>>(
             type, std::get<index>(records::json_table<Observation>).key),
         ...);
    }(std::make_index_sequence<count>());
    type.def("__repr__", [](const Seen& seen) {
        const auto& table = records::json_table<Observation>;
        return fields_of("Observation", fields_text(table, [&](const auto& line) {
                             return to_python(seen.get().*line.member);
                         }));
    });
}

// ---- decisions ---------------------------------------------------------------------------------

Decision decision_from(const py::kwargs& wishes) {
    Decision decision;
    for (const auto& [name, value] : wishes) {
        const std::string_view key = text_of(name);
        bool known = true;
        if (key == "reason") {
            if (!PyUnicode_Check(value.ptr())) refuse("reason", "a str", value);
            decision.reason = policies::lasting_reason(text_of(value));
        } else if (key == "ask_again_in_ns") {
            const auto wait = integer_from_python<std::int64_t>("ask_again_in_ns", value);
            if (wait < 1 || wait > records::json_time_max.raw()) {
                refuse("ask_again_in_ns", "1 ns to 36,600 days", value);
            }
            decision.ask_again_in = nanoseconds(wait);
        } else {
            known = false;
            for_each_line(policies::decision_fields, [&](const auto& field) {
                if (known || key != field.key) return;
                known = true;
                if (!value.is_none()) {
                    from_python(field.key, value, (decision.*field.decided).emplace());
                }
            });
        }
        if (!known) throw py::type_error(fmt::format("Decision has no field {}", key));
    }
    return decision;
}

void bind_decision(py::module_& module) {
    py::class_<Decision> type(module, "Decision", "What is to change; what is not named stays.");
    type.def(py::init(&decision_from));
    for_each_line(policies::decision_fields, [&](const auto& field) {
        type.def_property_readonly(
            field.key, [member = field.decided](const Decision& decision) -> py::object {
                if (!(decision.*member)) return py::none();
                return to_python(*(decision.*member));
            });
    });
    type.def_property_readonly("ask_again_in_ns", [](const Decision& decision) -> py::object {
        if (!decision.ask_again_in) return py::none();
        return py::int_(decision.ask_again_in->raw());
    });
    type.def_property_readonly("reason",
                               [](const Decision& decision) { return py::str(decision.reason); });
    type.def("__eq__", [](const Decision& a, const Decision& b) { return a == b; });
}

void bind_plan(py::module_& module) {
    using Shows = Shown<Plan>;
    py::class_<Shows> type(module, "Plan", "All of a job that may be adapted.");
    type.def(py::init([](const py::kwargs& fields) {
        Plan plan;
        py::dict others;
        for (const auto& [name, value] : fields) {
            const std::string key = py::str(name);
            if (key == "fleet") {
                from_python("fleet", value, plan.fleet);
            } else if (key == "version") {
                from_python("version", value, plan.version);
            } else {
                others[name] = value;
            }
        }
        set_by_name("Plan", policies::plan_fields, others, [&](const auto& line, py::handle value) {
            from_python(line.key, value, plan.*line.planned);
        });
        return Shows(std::move(plan));
    }));
    type.def_property_readonly("version",
                               [](const Shows& plan) { return to_python(plan.get().version); });
    type.def_property_readonly("fleet",
                               [](const Shows& plan) { return to_python(plan.get().fleet); });
    type.def_property_readonly(
        "market", [](const Shows& plan) { return to_python(policies::fleet_market(plan.get())); });
    type.def_property_readonly("count",
                               [](const Shows& plan) { return policies::fleet_count(plan.get()); });
    for_each_line(policies::plan_fields, [&](const auto& field) {
        type.def_property_readonly(field.key, [member = field.planned](const Shows& plan) {
            return to_python(plan.get().*member);
        });
    });
    type.def("after", [](const Shows& plan, const Decision& decision) {
        Plan next = plan.get();
        policies::apply(decision, next);
        return Shows(std::move(next));
    });
    type.def("__eq__", [](const Shows& a, const Shows& b) { return a.get() == b.get(); });
    type.def("__repr__", [](const Shows& plan) {
        return fields_of("Plan", fields_text(policies::plan_fields, [&](const auto& field) {
                             return to_python(plan.get().*field.planned);
                         }));
    });
}

// ---- the view of a question --------------------------------------------------------------------

void bind_view(py::module_& module) {
    py::class_<View> type(module, "View", "What a policy is shown, while it is asked.");
    add_attribute<View, [](const View& view) { return view.seen; }>(type, "seen");
    add_attribute<View, [](const View& view) { return view.plan; }>(type, "plan");
    type.def_property_readonly("instances_max",
                               [](const View& view) { return view.get().instances_max; });
    type.def_property_readonly("samples_per_epoch",
                               [](const View& view) { return view.get().samples_per_epoch; });
    type.def("work_time_ns", [](const View& view, std::int64_t samples, const Shown<Plan>& plan,
                                std::int32_t workers) {
        if (samples < 0 || workers < 1) throw py::value_error("expected samples and workers");
        return view.get().predictor.work_time(samples, plan.get(), workers).raw();
    });
    type.def("transition_time_ns",
             [](const View& view, const Shown<Plan>& from, const Shown<Plan>& to) {
                 return view.get().predictor.transition_time(from.get(), to.get()).raw();
             });
    type.def("checkpoint_time_ns", [](const View& view, const Shown<Plan>& plan) {
        return view.get().predictor.checkpoint_time(plan.get()).raw();
    });
    type.def("restore_time_ns", [](const View& view, const Shown<Plan>& plan) {
        return view.get().predictor.restore_time(plan.get()).raw();
    });
    type.def("loses_work", [](const View& view) { return view.get().predictor.loses_work(); });
    type.def("uniform", [](const View& view) { return view.get().random.uniform(); });
    type.def("integer", [](const View& view, std::int64_t least, std::int64_t most) {
        if (least > most) throw py::value_error("expected a range that goes up");
        return view.get().random.integer(least, most);
    });
}

}  // namespace

void bind_values(py::module_& module) {
    bind_record<policies::ZoneView>(module, "ZoneView", "What one place sells.");
    bind_record<policies::Notice>(module, "Notice", "A revocation that is announced.");
    bind_record<policies::WorkerView>(module, "WorkerView", "One worker's last step.");
    bind_record<policies::GradientStatistics>(module, "GradientStatistics", "Of the last step.");
    bind_record<policies::LinkView>(module, "LinkView", "What is between two hosts.");
    bind_record<policies::ExchangeView>(module, "ExchangeView", "The last step's exchange.");
    bind_record<policies::FleetLine>(module, "FleetLine", "What is bought in one place.");
    bind_record<policies::Layout>(module, "Layout", "workers = data x pipeline x tensor.");
    bind_record<policies::ZoneCount>(module, "ZoneCount", "So many in a zone.");
    bind_record<policies::MarketCount>(module, "MarketCount", "So many in a zone and market.");
    bind_record<policies::ZoneBid>(module, "ZoneBid", "A bid for a zone.");
    bind_observation(module);
    bind_decision(module);
    bind_plan(module);
    bind_view(module);
}

}  // namespace ukemi::python
