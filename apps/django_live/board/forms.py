# SPDX-License-Identifier: MIT
from django import forms

from .models import Comment


class CommentForm(forms.ModelForm):
    class Meta:
        model = Comment
        fields = ["author", "text"]
        widgets = {
            "author": forms.TextInput({"autocomplete": "name"}),
            "text": forms.Textarea({"rows": 2}),
        }
