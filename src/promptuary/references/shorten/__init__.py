"""Shorter forms of texts, trees and patches: everything is named before anything is shown. Pure."""
