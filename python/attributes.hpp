// attributes.hpp — read-only attributes that cost what Python's own do: a policy reads several at
// each question, and one by pybind11's general way takes seven times as long.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace ukemi::python {

namespace py = pybind11;

// `get` is a function of const Self& that returns a py::object. Its exceptions are RuntimeError.
template <class Self, auto get>
PyObject* attribute_of(PyObject* self, void*) noexcept {
    try {
        const void* const value =
            reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().value_ptr();
        return py::object(get(*static_cast<const Self*>(value))).release().ptr();
    } catch (py::error_already_set& raised) {
        raised.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

// `name` stays where it is, and the attribute as long as the program.
template <class Self, auto get>
void add_attribute(py::class_<Self>& type, const char* name) {
    auto* const definition =
        new PyGetSetDef{name, attribute_of<Self, get>, nullptr, nullptr, nullptr};
    type.attr(name) = py::reinterpret_steal<py::object>(
        PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), definition));
}

}  // namespace ukemi::python
