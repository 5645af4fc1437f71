"""The @ and # menus: what may be meant by the word that is being typed."""
