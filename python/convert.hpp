// convert.hpp — values of policies as Python objects and back, by the tables that their JSON has:
// names, units and what may be absent are those of decisions.jsonl.
//
// Integers with their unit in the name are int, enumerators their names as str, lists tuples, parts
// of Observations and Plans objects of their own, which are copies. A moment that never comes is
// None.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "records/observation_table.hpp"
#include "records/plan_table.hpp"

namespace ukemi::python {

namespace py = pybind11;

template <class Value>
concept IsNamed = requires(const Value& value) { records::names_of(value); };

// The names of an enumeration as Python strings, made once and never given back.
inline py::handle python_name(std::span<const std::string_view> names, std::size_t index) {
    return PyUnicode_InternFromString(std::string(names[index]).c_str());
}

template <class Value>
py::object to_python(const Value& value) {
    if constexpr (IsNamed<Value>) {
        static const std::vector<py::handle> names = [&] {
            std::vector<py::handle> all;
            const auto known = records::names_of(value);
            for (std::size_t i = 0; i < known.size(); ++i) all.push_back(python_name(known, i));
            return all;
        }();
        return py::reinterpret_borrow<py::object>(names[static_cast<std::size_t>(value)]);
    } else if constexpr (std::is_enum_v<Value>) {
        return py::int_(index_of(value));
    } else if constexpr (records::HasJsonTable<Value>) {
        return py::cast(value);
    } else if constexpr (std::same_as<Value, Instant>) {
        if (value == Instant::never()) return py::none();
        return py::int_(value.raw());
    } else if constexpr (requires { value.raw(); }) {
        return py::int_(value.raw());
    } else if constexpr (requires { value.begin(); }) {
        py::tuple list(value.size());
        for (std::size_t i = 0; i < value.size(); ++i) list[i] = to_python(value[i]);
        return list;
    } else {
        return py::cast(value);
    }
}

[[noreturn]] inline void refuse(const char* key, const char* expected, py::handle found) {
    throw py::value_error(fmt::format("{}: expected {}, found {}", key, expected,
                                      py::repr(found).cast<std::string>()));
}

// A str as it lies in Python; empty for what is none.
inline std::string_view text_of(py::handle from) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(from.ptr())) return {};
    const char* const text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
    if (text == nullptr) throw py::error_already_set();
    return {text, static_cast<std::size_t>(size)};
}

template <class Integer>
Integer integer_from_python(const char* key, py::handle from) {
    if (!PyLong_Check(from.ptr()) || PyBool_Check(from.ptr())) refuse(key, "an int", from);
    try {
        return from.cast<Integer>();
    } catch (const py::cast_error&) {
        refuse(key, "a smaller number", from);
    }
}

template <class Record>
Record record_from_python(const char* key, py::handle from);

template <class Value>
void from_python(const char* key, py::handle from, Value& value) {
    if constexpr (IsNamed<Value>) {
        const auto names = records::names_of(value);
        const auto found = std::ranges::find(names, text_of(from));
        if (found == names.end()) {
            refuse(key, fmt::format("one of {}", fmt::join(names, ", ")).c_str(), from);
        }
        value = static_cast<Value>(found - names.begin());
    } else if constexpr (std::is_enum_v<Value>) {
        value = Value{integer_from_python<std::underlying_type_t<Value>>(key, from)};
    } else if constexpr (records::HasJsonTable<Value>) {
        value = record_from_python<Value>(key, from);
    } else if constexpr (std::same_as<Value, bool>) {
        if (!PyBool_Check(from.ptr())) refuse(key, "True or False", from);
        value = from.ptr() == Py_True;
    } else if constexpr (std::integral<Value>) {
        value = integer_from_python<Value>(key, from);
    } else if constexpr (std::same_as<Value, double>) {
        if (!PyFloat_Check(from.ptr()) && !PyLong_Check(from.ptr())) refuse(key, "a number", from);
        value = from.cast<double>();
    } else if constexpr (std::same_as<Value, Instant>) {
        value = from.is_none()
                    ? Instant::never()
                    : Instant::at(nanoseconds(integer_from_python<std::int64_t>(key, from)));
    } else if constexpr (requires { value.raw(); }) {
        value = Value::of(integer_from_python<std::int64_t>(key, from));
    } else {
        if (!py::isinstance<py::sequence>(from)) refuse(key, "a list", from);
        value.clear();
        for (const py::handle element : from) from_python(key, element, value.emplace_back());
    }
}

// Sets the members that the table has by these names; ValueError for a name that it does not have.
template <class Table, class Set>
void set_by_name(const char* what, const Table& table, const py::handle& names, Set set) {
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(names)) {
        const std::string_view key = text_of(name);
        bool known = false;
        for_each_line(table, [&](const auto& line) {
            if (known || key != line.key) return;
            known = true;
            set(line, value);
        });
        if (!known) throw py::type_error(fmt::format("{} has no field {}", what, key));
    }
}

template <class Record>
Record record_from_python(const char* key, py::handle from) {
    if (py::isinstance<Record>(from)) return from.cast<Record>();
    if (!py::isinstance<py::dict>(from)) refuse(key, "a dict", from);
    Record record;
    set_by_name(key, records::json_table<Record>, from, [&](const auto& line, py::handle value) {
        from_python(line.key, value, record.*line.member);
    });
    return record;
}

}  // namespace ukemi::python
